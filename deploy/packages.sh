# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: MIT
# The only list of Debian 12 packages; ./run, ./test and .ci/run read it.
# An entry is `package` or `package:command`: with a command, it is enough that the command exists
# (node and npm often come from elsewhere).

FW_PACKAGES_BUILD=(
    gcc libc6-dev meson ninja-build pkg-config:pkg-config
    glslang-tools libvulkan-dev
    libavcodec-dev libavformat-dev libavutil-dev
    libwebsockets-dev libuv1-dev libssl-dev libjansson-dev libyaml-dev
    libassimp-dev libstb-dev libcglm-dev libjpeg62-turbo-dev
    libglfw3-dev
)

# What the server needs when it runs: a Vulkan driver (lavapipe when there is no GPU), the uv loop
# of libwebsockets, which is a plug-in of its own, and openssl for --tls-self-signed.
FW_PACKAGES_RUN=(
    mesa-vulkan-drivers libvulkan1 libwebsockets-evlib-uv openssl:openssl ca-certificates
    libjs-chart.js
)

FW_PACKAGES_TEST=(
    libcmocka-dev vulkan-validationlayers assimp-testmodels
    clang-14 libclang-rt-14-dev clang-format-14
    chromium firefox-esr fonts-dejavu-core xvfb libx11-dev libxext-dev libxtst-dev
    nodejs:node npm:npm
    ffmpeg:ffmpeg curl iproute2 procps git
    nginx-light:nginx haproxy:haproxy prometheus
)

# Other systems that `./test rivals` measures beside this one; nothing else needs them.
FW_PACKAGES_RIVALS=(
    tigervnc-standalone-server:Xtigervnc novnc websockify xpra:xpra
    gstreamer1.0-tools gstreamer1.0-plugins-good gstreamer1.0-plugins-ugly gstreamer1.0-plugins-bad
    gstreamer1.0-x
)
