/* predict SYMBOL PARAMS: asks a network with the input data, (2, 4), through the predict API; the last lines are what
 * wrong calls say. Compiles with MXNet's header as well. */
#include <stdio.h>
#include <stdlib.h>

#include "c_predict_api.h"

static char* content(const char* name, long* size) {
  FILE* file = fopen(name, "rb");
  char* text;
  fseek(file, 0, SEEK_END);
  *size = ftell(file);
  rewind(file);
  text = calloc(*size + 1, 1);
  if (fread(text, 1, *size, file) != (size_t)*size) exit(3);
  fclose(file);
  return text;
}

static void check(int code) {
  if (code) {
    printf("failed: %s\n", MXGetLastError());
    exit(2);
  }
}

static void say(const char* what, PredictorHandle net, mx_uint rows) {
  mx_uint *shape, ndim, i, size = 1;
  mx_float input[64], *output;
  for (i = 0; i < rows * 4; ++i) input[i] = i * 0.25f;
  check(MXPredSetInput(net, "data", input, rows * 4));
  check(MXPredForward(net));
  check(MXPredGetOutputShape(net, 0, &shape, &ndim));
  printf("%s", what);
  for (i = 0; i < ndim; ++i) size *= shape[i], printf(" %u", shape[i]);
  output = calloc(size, sizeof(mx_float));
  check(MXPredGetOutput(net, 0, output, size));
  printf(":");
  for (i = 0; i < size; ++i) printf(" %.6f", output[i]);
  printf("\n");
  free(output);
}

int main(int count, char** arguments) {
  long text_size, size;
  char *text = content(arguments[1], &text_size), *params = content(arguments[2], &size);
  const char *keys[] = {"data"}, *layers[] = {"hidden"}, *key;
  mx_uint starts[] = {0, 2}, lengths[] = {2, 4}, more[] = {3, 4}, length, ndim, i, total = 0;
  const mx_uint* shape;
  const mx_float* numbers;
  PredictorHandle net, inner, other, none = NULL;
  NDListHandle list;
  mx_float room[3];
  (void)count;
  check(MXPredCreate(text, params, size, 1, 0, 1, keys, starts, lengths, &net));
  say("whole", net, 2);
  check(MXPredCreatePartialOut(text, params, size, 1, 0, 1, keys, starts, lengths, 1, layers,
                               &inner));
  say("inner", inner, 2);
  check(MXPredReshape(1, keys, starts, more, net, &other));
  say("other", other, 3);
  say("whole", net, 2);
  check(MXNDListCreate(params, size, &list, &length));
  for (i = 0; i < length; ++i) {
    check(MXNDListGet(list, i, &key, &numbers, &shape, &ndim));
    total += ndim;
  }
  printf("list %u %u\n", length, total);
  check(MXNDListFree(list));
  check(MXPredFree(inner));
  check(MXPredFree(other));
#ifdef CYNET_C_PREDICT_API_H_
  {
    const char* wrong[] = {"date"};
    mx_uint falling[] = {2, 0};
    int code;
#define SAY(call) (code = (call), printf("%d %s\n", code, MXGetLastError()))
    SAY(MXPredCreate("{", params, size, 1, 0, 1, keys, starts, lengths, &none));
    SAY(MXPredCreate(text, params, size, 7, 0, 1, keys, starts, lengths, &none));
    SAY(MXPredCreate(text, params, size, 1, 0, 1, wrong, starts, lengths, &none));
    SAY(MXPredCreate(text, params, size, 1, 0, 1, keys, falling, lengths, &none));
    SAY(MXPredCreate(text, params, size / 2, 1, 0, 1, keys, starts, lengths, &none));
    SAY(MXPredCreate(text, "", 0, 1, 0, 1, keys, starts, lengths, &none));
    SAY(MXPredCreate(NULL, params, size, 1, 0, 1, keys, starts, lengths, &none));
    SAY(MXPredCreatePartialOut(text, params, size, 1, 0, 1, keys, starts, lengths, 1, wrong,
                               &none));
    SAY(MXPredSetInput(net, "fc_weight", room, 3));
    SAY(MXPredSetInput(net, "data", room, 3));
    SAY(MXPredGetOutput(net, 0, room, 3));
    SAY(MXPredGetOutput(net, 9, room, 3));
    SAY(MXPredReshape(1, wrong, starts, more, net, &none));
    SAY(MXPredForward(NULL));
    SAY(MXNDListCreate("abc", 3, &list, &length));
    SAY(MXPredFree(NULL));
  }
#endif
  check(MXPredFree(net));
  printf("done %d\n", none == NULL);
  return 0;
}
