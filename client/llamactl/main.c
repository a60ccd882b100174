/* SPDX-License-Identifier: MIT
 *
 * llamactl: the command line of llamad. */
#include "client/llamactl/ctl.h"
#include "core/worker/worker.h"

int main(int argc, char **argv)
{
	int status;

	return lmi_worker_main_if_asked(argc, argv, &status) ? status : lmi_ctl_main(argc, argv);
}
