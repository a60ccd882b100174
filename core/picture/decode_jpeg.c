/* SPDX-License-Identifier: MIT
 *
 * JPEG through libjpeg, whose errors leave by longjmp: everything that is used afterwards lies in one
 * struct, which belongs to the caller of the function that they return to. */
#include "core/picture/decode.h"

#ifdef LMD_HAVE_JPEG
#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "core/picture/orientation.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include <jerror.h>

struct reader {
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct jpeg_progress_mgr progress;
	jmp_buf back;
	struct lmi_picture_pixels pixels;
	uint8_t *row; /* [image_width][3], of a picture that does not lie upright; otherwise NULL */
	unsigned orientation;
	enum lmd_status status;
	struct lmd_error *err;
};

static struct reader *reader_of(j_common_ptr jpeg)
{
	return (struct reader *)jpeg->client_data;
}

static _Noreturn void leave(struct reader *r, enum lmd_status st)
{
	r->status = st;
	longjmp(r->back, 1);
}

static _Noreturn void on_error(j_common_ptr jpeg)
{
	struct reader *r = reader_of(jpeg);
	char text[JMSG_LENGTH_MAX];

	jpeg->err->format_message(jpeg, text);
	leave(r, lmd_fail(r->err, LMD_CORRUPT, "the JPEG file is damaged: %.120s", text));
}

/* Of warnings, only that of a truncated file ends the work. */
static void on_message(j_common_ptr jpeg, int level)
{
	if (level < 0 && jpeg->err->msg_code == JWRN_JPEG_EOF)
		leave(reader_of(jpeg), lmd_fail(reader_of(jpeg)->err, LMD_CORRUPT,
						"the JPEG file is damaged: it ends too early"));
}

/* Is called for each line, and for the blocks of up to 16 lines of a scan. */
static void on_progress(j_common_ptr jpeg)
{
	const struct jpeg_decompress_struct *d = &reader_of(jpeg)->jpeg;

	if (!lmi_cancel_step(8ull * d->image_width))
		leave(reader_of(jpeg),
		      lmd_fail(reader_of(jpeg)->err, LMD_CANCELLED, "reading a picture was cancelled"));
	if (jpeg->is_decompressor && d->input_scan_number > LMI_PICTURE_MAX_SCANS)
		leave(reader_of(jpeg),
		      lmd_fail(reader_of(jpeg)->err, LMD_INVALID, "the JPEG file has more than %d scans",
			       LMI_PICTURE_MAX_SCANS));
	if (jpeg->is_decompressor &&
	    (uint64_t)d->input_scan_number * d->image_width * d->image_height > LMI_PICTURE_MAX_WORK)
		leave(reader_of(jpeg),
		      lmd_fail(reader_of(jpeg)->err, LMD_INVALID,
			       "the JPEG file has %d or more scans of %u x %u pixels; all together may have %llu",
			       d->input_scan_number, d->image_width, d->image_height, LMI_PICTURE_MAX_WORK));
}

static void take_memory(struct reader *r)
{
	bool turned = lmi_picture_is_turned(r->orientation);
	uint32_t w = r->jpeg.image_width, h = r->jpeg.image_height;
	enum lmd_status st = lmi_picture_pixels_init(&r->pixels, turned ? h : w, turned ? w : h, r->err);

	if (st != LMD_OK)
		leave(r, st);
	if (r->orientation == LMI_PICTURE_UPRIGHT)
		return;
	r->row = lmi_alloc(w, 3);
	if (!r->row)
		leave(r, lmd_fail(r->err, LMD_NOMEM, "no memory for a line of %u pixels", w));
}

/* Returns at an error, too: r->status. */
static void read_lines(struct reader *r, const void *bytes, size_t n)
{
	struct jpeg_decompress_struct *d = &r->jpeg;

	if (setjmp(r->back))
		return;
	jpeg_create_decompress(d);
	d->client_data = r;
	d->progress = &r->progress;
	r->progress.progress_monitor = on_progress;
	jpeg_mem_src(d, bytes, (unsigned long)n);
	(void)jpeg_read_header(d, TRUE);
	if (d->jpeg_color_space == JCS_CMYK || d->jpeg_color_space == JCS_YCCK)
		leave(r, lmd_fail(r->err, LMD_UNSUPPORTED,
				  "the JPEG file has four colours (CMYK); convert it to RGB"));
	d->out_color_space = JCS_RGB;
	take_memory(r);
	(void)jpeg_start_decompress(d);
	while (d->output_scanline < d->output_height) {
		uint32_t y = d->output_scanline;
		JSAMPROW line = r->row ? r->row : r->pixels.rgb + (size_t)y * r->pixels.w * 3;

		if (jpeg_read_scanlines(d, &line, 1) == 1 && r->row)
			lmi_picture_put_row(&r->pixels, line, y, r->orientation);
	}
	(void)jpeg_finish_decompress(d);
}

enum lmd_status lmi_picture_decode_jpeg(struct lmi_picture_pixels *out, const void *bytes, size_t n,
					struct lmd_error *err)
{
	struct reader r = {.err = err, .orientation = lmi_picture_orientation(bytes, n)};

	r.jpeg.err = jpeg_std_error(&r.errors);
	r.jpeg.client_data = &r;
	r.errors.error_exit = on_error;
	r.errors.emit_message = on_message;
	read_lines(&r, bytes, n);
	jpeg_destroy_decompress(&r.jpeg);
	lmi_free(r.row);
	if (r.status == LMD_OK)
		*out = r.pixels;
	else
		lmi_picture_pixels_fini(&r.pixels);
	return r.status;
}
#else
enum lmd_status lmi_picture_decode_jpeg(struct lmi_picture_pixels *out, const void *bytes, size_t n,
					struct lmd_error *err)
{
	(void)out;
	(void)bytes;
	(void)n;
	return lmd_fail(err, LMD_UNSUPPORTED, "the picture is a JPEG file, and llamad was built without libjpeg");
}
#endif
