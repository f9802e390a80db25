# spirograd from a wheel, on the CPU and on a GPU. It has not been built by the project's tests, which run where no image
# can be pulled.
#   tools/wheel.sh && docker build -t spirograd .
#   docker run --rm spirograd                                          # what it finds
#   docker run --rm --device /dev/dri spirograd                        # AMD, Intel
#   docker run --rm --gpus all spirograd                               # NVIDIA, through its container runtime
FROM python:3.11-slim-bookworm
# The Vulkan loader, Mesa's drivers, and the GLVND libraries that NVIDIA's driver needs even for compute alone.
RUN apt-get update && apt-get install -y --no-install-recommends \
      libvulkan1 mesa-vulkan-drivers libglvnd0 libgl1 libegl1 && rm -rf /var/lib/apt/lists/*
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics NVIDIA_VISIBLE_DEVICES=all
COPY dist/*.whl /tmp/wheels/
RUN pip install --no-cache-dir --find-links /tmp/wheels spirograd && rm -rf /tmp/wheels
RUN useradd --create-home user
USER user
CMD ["python", "-m", "spirograd", "info"]
