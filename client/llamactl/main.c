/* SPDX-License-Identifier: MIT
 *
 * llamactl: the command line of llamad. */
#include "client/llamactl/ctl.h"

int main(int argc, char **argv)
{
	return lmi_ctl_main(argc, argv);
}
