/* Bytes as a photo, for directories of each kind. */
#include "core/model/photo.h"
#include "core/tenant/connector.h"
#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ida_ctx *c = fuzz_context();
    unsigned char *bytes = malloc(size ? size : 1);
    FUZZ_HOLDS(bytes);
    if (size) {
        memcpy(bytes, data, size);
    }
    const char *type = ida_photo_type(bytes, size), *taken;
    const char *fault = ida_photo_fault(c->pool, IDA_DIR_CLOUD, bytes, size, &taken);
    FUZZ_HOLDS(!fault == (type && size <= ida_connector_of(IDA_DIR_CLOUD)->photo_max) &&
               (fault != NULL) == (taken == NULL));
    fault = ida_photo_fault(c->pool, IDA_DIR_ON_PREMISES, bytes, size, &taken);
    FUZZ_HOLDS(!fault == (type && size <= ida_connector_of(IDA_DIR_ON_PREMISES)->photo_max) &&
               (fault != NULL) == (taken == NULL));
    if (size > 12 && type) { /* a file that is cut off is none */
        FUZZ_HOLDS(strcmp(type, "image/png") != 0 || !ida_photo_type(bytes, size - 1));
    }
    free(bytes);
    return 0;
}
