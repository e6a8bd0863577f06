/* A wall clock that steps by WALL_CLOCK_STEP seconds once the file WALL_CLOCK_STEPS exists; to be preloaded. */

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = syscall(SYS_clock_gettime, clock, now);
	const char *file = getenv("WALL_CLOCK_STEPS");

	if (result == 0 && clock == CLOCK_REALTIME && file && access(file, F_OK) == 0)
		now->tv_sec += atol(getenv("WALL_CLOCK_STEP"));
	return result;
}
