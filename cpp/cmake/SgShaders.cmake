# shaders/*.comp -> SPIR-V (target Vulkan 1.3), texts of shaders/*.comp and *.glsl -> one generated unit that defines
# sg::embedded_spirv and sg::embedded_source. A shader that does not compile stops the build with its own message.
file(GLOB sg_comp CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/shaders/*.comp")
file(GLOB sg_glsl CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/shaders/*.glsl")
list(SORT sg_comp)
list(SORT sg_glsl)
set(sg_spirv_dir "${PROJECT_BINARY_DIR}/spirv")
file(MAKE_DIRECTORY "${sg_spirv_dir}")
set(sg_spirv "")
foreach(shader IN LISTS sg_comp)
  get_filename_component(name "${shader}" NAME_WE)
  add_custom_command(OUTPUT "${sg_spirv_dir}/${name}.spv"
    COMMAND "${SG_GLSLANG_VALIDATOR}" --quiet --target-env vulkan1.3 -V "-I${PROJECT_SOURCE_DIR}/shaders"
            -o "${sg_spirv_dir}/${name}.spv" "${shader}"
    DEPENDS "${shader}" ${sg_glsl} ${SG_GLSLANG_VALIDATOR_TARGET}
    COMMENT "GLSL ${name}.comp" VERBATIM)
  list(APPEND sg_spirv "${sg_spirv_dir}/${name}.spv")
endforeach()
set(SG_EMBEDDED_SHADERS "${PROJECT_BINARY_DIR}/embedded_shaders.cpp")
# The list goes through a file: command lines have a limit, and a removed shader must change a dependency.
string(REPLACE ";" "\n" sg_embed_list "${sg_spirv};${sg_comp};${sg_glsl}")
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/embedded_shaders.txt" CONTENT "${sg_embed_list}\n" @ONLY)
add_custom_command(OUTPUT "${SG_EMBEDDED_SHADERS}"
  COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cpp/cmake/embed_shaders.py"
          "${PROJECT_BINARY_DIR}/embedded_shaders.txt" "${SG_EMBEDDED_SHADERS}"
  DEPENDS ${sg_spirv} ${sg_comp} ${sg_glsl} "${PROJECT_BINARY_DIR}/embedded_shaders.txt"
          "${PROJECT_SOURCE_DIR}/cpp/cmake/embed_shaders.py"
  COMMENT "Embedding shaders" VERBATIM)
