/* What cppcheck must know of headers that it does not read: Jansson's loops are loops, httpd's and
 * OpenSSL's words are words. Included before each source file by make lint, by nobody else. */
#define json_array_foreach(array, i, value) \
    for (i = 0; i < json_array_size(array) && (value = json_array_get(array, i)); i++)
#define json_object_foreach(object, key, value)                                          \
    for (void *at = json_object_iter(object);                                            \
         at && (key = json_object_iter_key(at)) && (value = json_object_iter_value(at)); \
         at = json_object_iter_next(object, at))
