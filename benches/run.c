/* Run a command so many times and write what it took: CPU seconds, wall seconds, peak KiB. A process of its own,
   because a child begins with the peak of its parent. usage: run OUT COUNT COMMAND... */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t) { return t.tv_sec + t.tv_usec / 1e6; }

int main(int argc, char **argv) {
	struct timespec start, end;
	struct rusage usage;
	int status = 0;
	if (argc < 4) return 2;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int n = atoi(argv[2]); n > 0 && status == 0; n--) {
		if (vfork() == 0) {
			execvp(argv[3], argv + 3);
			_exit(127);
		}
		wait(&status);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	getrusage(RUSAGE_CHILDREN, &usage);
	FILE *out = fopen(argv[1], "w");
	if (!out) return 2;
	fprintf(out, "%f %f %ld\n", seconds(usage.ru_utime) + seconds(usage.ru_stime),
		end.tv_sec - start.tv_sec + (end.tv_nsec - start.tv_nsec) / 1e9, usage.ru_maxrss);
	fclose(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
