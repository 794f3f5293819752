// SPDX-License-Identifier: MIT
// The pictures. A new one: add a row, run `golden --update NAME`, look at ref/NAME.png.
#include "tests/golden/golden.h"

// Two runs of one driver give the same bytes; another LLVM may round otherwise.
enum { TIGHT = 2 };

static const struct fw_input_event touched[] = {
    { .id = 1, .kind = FW_INPUT_MOTION, .x = 400, .y = 250 },
    { .id = 2, .kind = FW_INPUT_BUTTON, .state = 1, .x = 410, .y = 260 },
    { .id = 3, .kind = FW_INPUT_BUTTON, .state = 0, .x = 410, .y = 260 },
    { .id = 4, .kind = FW_INPUT_WHEEL, .dy = 100 },
    { .id = 5, .kind = FW_INPUT_WHEEL, .dy = 100 },
    { .id = 6, .kind = FW_INPUT_WHEEL, .dy = 100 },
    { .id = 7, .kind = FW_INPUT_WHEEL, .dy = -100 },
    { .id = 8, .kind = FW_INPUT_KEY, .state = 1, .code = 30 },
};

// An arrow-like corner, half of it see-through.
#define C0 0, 0, 0, 0
#define C1 255, 255, 255, 255
#define C2 255, 0, 0, 128
static const uint8_t cursor[8 * 8 * 4] = {
    C1, C1, C1, C1, C1, C1, C1, C1, //
    C1, C2, C2, C2, C2, C2, C1, C0, //
    C1, C2, C2, C2, C2, C1, C0, C0, //
    C1, C2, C2, C2, C1, C0, C0, C0, //
    C1, C2, C2, C1, C0, C0, C0, C0, //
    C1, C2, C1, C0, C0, C0, C0, C0, //
    C1, C1, C0, C0, C0, C0, C0, C0, //
    C1, C0, C0, C0, C0, C0, C0, C0, //
};

#define CARD .source = "testcard", .frame_id = 0x123456789abcdef0u, .now_ns = 1250000000

// Shading may round otherwise from one LLVM to the next, and an edge pixel fall to the other side;
// a texture, a light or a face gone wrong moves far more than this.
#define SCENE(share, average)                                                                      \
    .source = "scene", .frame_id = 1, .now_ns = 1000000000, .tolerance = 6,                        \
    .off_percent = (share), .mean = (average)
#define AT_REST     SCENE(0.6, 0.6), .at_rest = true
#define MODEL(file) .args = { { "model", file } }
#define SMALL       .width = 320, .height = 240

const struct golden_case golden_cases[] = {
    { .name = "testcard-720p", CARD, .width = 1280, .height = 720, .tolerance = TIGHT },
    { .name = "testcard-641x479", CARD, .width = 641, .height = 479, .tolerance = TIGHT },
    { .name = "testcard-300x600", CARD, .width = 300, .height = 600, .tolerance = TIGHT },
    { .name = "testcard-64x48", CARD, .width = 64, .height = 48, .tolerance = TIGHT },
    { .name = "testcard-touched",
      CARD,
      .width = 800,
      .height = 600,
      .input = touched,
      .input_count = sizeof(touched) / sizeof(touched[0]),
      .tolerance = TIGHT },
    { .name = "testcard-still",
      CARD,
      .args = { { "animate", "0" } },
      .width = 320,
      .height = 240,
      .tolerance = TIGHT },
    { .name = "testcard-full",
      CARD,
      .args = { { "animate", "full" } },
      .width = 640,
      .height = 360,
      .tolerance = TIGHT },
    // Every way through the passes gives the same picture.
    { .name = "testcard-readback",
      .reference = "testcard-641x479",
      CARD,
      .width = 641,
      .height = 479,
      .force_target = "readback",
      .tolerance = TIGHT },
    { .name = "testcard-compute",
      .reference = "testcard-641x479",
      CARD,
      .width = 641,
      .height = 479,
      .force_convert = "compute",
      .tolerance = 5 },
    { .name = "testcard-merge",
      .reference = "testcard-641x479",
      CARD,
      .width = 641,
      .height = 479,
      .force_merge = "on",
      .tolerance = TIGHT },
    { .name = "testcard-merge-compute",
      .reference = "testcard-641x479",
      CARD,
      .width = 641,
      .height = 479,
      .force_merge = "on",
      .force_convert = "compute",
      .tolerance = 5 },
    { .name = "testcard-scaled",
      CARD,
      .width = 640,
      .height = 360,
      .scale_percent = 200,
      .tolerance = TIGHT },
    { .name = "overlay",
      CARD,
      .width = 320,
      .height = 240,
      .overlay = { .rgba = cursor, .width = 8, .height = 8, .x = 100, .y = 60 },
      .tolerance = TIGHT },
    { .name = "overlay-merge",
      .reference = "overlay",
      CARD,
      .width = 320,
      .height = 240,
      .force_merge = "on",
      .overlay = { .rgba = cursor, .width = 8, .height = 8, .x = 100, .y = 60 },
      .tolerance = TIGHT },
    { .name = "scene-demo", AT_REST, .args = { { "orbit", "0" } }, .width = 640, .height = 360 },
    // In motion: one sample per pixel. Edges differ, faces do not.
    { .name = "scene-demo-moving",
      SCENE(0.6, 0.6),
      .args = { { "orbit", "0" } },
      .width = 640,
      .height = 360 },
    // Scene-linear, tone-mapped in the merge. Edges are averaged before the curve, not after it.
    { .name = "scene-demo-linear",
      .reference = "scene-demo",
      SCENE(0.6, 0.8),
      .at_rest = true,
      .args = { { "orbit", "0" } },
      .width = 640,
      .height = 360,
      .force_merge = "on" },
    // Hand-made: alpha modes, vertex colours, a mirrored node, a texture transform, unlit, culling.
    { .name = "scene-features", AT_REST, MODEL("features.gltf"), .width = 640, .height = 480 },
    // Here glass is blended as light, there as it looks; all else agrees.
    { .name = "scene-features-linear",
      .reference = "scene-features",
      SCENE(5.5, 1.3),
      .at_rest = true,
      MODEL("features.gltf"),
      .width = 640,
      .height = 480,
      .force_merge = "on" },
    // From the distribution's assimp-testmodels.
    { .name = "scene-engine",
      AT_REST,
      MODEL("glTF2/2CylinderEngine-glTF-Binary/2CylinderEngine.glb"),
      SMALL },
    { .name = "scene-box-textured",
      AT_REST,
      MODEL("glTF2/BoxTextured-glTF/BoxTextured.gltf"),
      SMALL },
    // Well-known models, where there is a copy of them.
    { .name = "scene-helmet", AT_REST, MODEL("DamagedHelmet.glb"), SMALL, .optional_model = true },
    { .name = "scene-duck", AT_REST, MODEL("Duck.glb"), SMALL, .optional_model = true },
    { .name = "scene-flight-helmet",
      AT_REST,
      MODEL("FlightHelmet/FlightHelmet.gltf"),
      SMALL,
      .optional_model = true },
    { .name = "scene-man", AT_REST, MODEL("CesiumMan.glb"), SMALL, .optional_model = true },
    { .name = "scene-plane", AT_REST, MODEL("TwoSidedPlane.glb"), SMALL, .optional_model = true },
    { .name = "scene-tangents",
      AT_REST,
      MODEL("NormalTangentTest.glb"),
      SMALL,
      .optional_model = true },
};
const unsigned golden_case_count = sizeof(golden_cases) / sizeof(golden_cases[0]);
