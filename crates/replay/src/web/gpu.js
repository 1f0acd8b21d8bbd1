// Thin helpers over WebGL 1.

function openGpu(canvas) {
  const options = { antialias: true, alpha: false, powerPreference: "high-performance" };
  return canvas.getContext("webgl", options) || canvas.getContext("experimental-webgl", options);
}

function compileShader(gl, kind, source) {
  const shader = gl.createShader(kind);
  gl.shaderSource(shader, source);
  gl.compileShader(shader);
  if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
    throw new Error(`shader: ${gl.getShaderInfoLog(shader)}`);
  }
  return shader;
}

// A program with the places of its attributes and uniforms by name.
function createProgram(gl, vertexSource, fragmentSource) {
  const handle = gl.createProgram();
  gl.attachShader(handle, compileShader(gl, gl.VERTEX_SHADER, vertexSource));
  gl.attachShader(handle, compileShader(gl, gl.FRAGMENT_SHADER, fragmentSource));
  gl.linkProgram(handle);
  if (!gl.getProgramParameter(handle, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`program: ${gl.getProgramInfoLog(handle)}`);
  }
  const uniforms = {};
  for (let k = 0; k < gl.getProgramParameter(handle, gl.ACTIVE_UNIFORMS); k++) {
    const { name, type } = gl.getActiveUniform(handle, k);
    uniforms[name] = { place: gl.getUniformLocation(handle, name), type };
  }
  const attributes = {};
  for (let k = 0; k < gl.getProgramParameter(handle, gl.ACTIVE_ATTRIBUTES); k++) {
    const { name } = gl.getActiveAttrib(handle, k);
    attributes[name] = gl.getAttribLocation(handle, name);
  }
  return { handle, uniforms, attributes };
}

// Sets the uniforms a program has; values for others are left alone.
function setUniforms(gl, program, values) {
  for (const name in values) {
    const uniform = program.uniforms[name];
    if (!uniform) continue;
    const value = values[name];
    switch (uniform.type) {
      case gl.FLOAT: gl.uniform1f(uniform.place, value); break;
      case gl.FLOAT_VEC2: gl.uniform2fv(uniform.place, value); break;
      case gl.FLOAT_VEC3: gl.uniform3fv(uniform.place, value); break;
      case gl.FLOAT_VEC4: gl.uniform4fv(uniform.place, value); break;
      case gl.FLOAT_MAT4: gl.uniformMatrix4fv(uniform.place, false, value); break;
      case gl.SAMPLER_2D: gl.uniform1i(uniform.place, value); break;
      default: throw new Error(`uniform ${name}: type ${uniform.type}`);
    }
  }
}

function createBuffer(gl, values) {
  const buffer = gl.createBuffer();
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(values), gl.STATIC_DRAW);
  return buffer;
}

// Buffers of a surface; the lines of its wireframe are made when first asked for.
function uploadSurface(gl, surface) {
  return {
    surface,
    positions: createBuffer(gl, surface.positions),
    normals: createBuffer(gl, surface.normals),
    count: surface.positions.length / 3,
    lines: null,
  };
}

function wireframeOf(gl, uploaded) {
  if (!uploaded.lines) {
    const p = uploaded.surface.positions;
    const ends = [];
    for (let k = 0; k < p.length; k += 9) {
      const [a, b, c] = [p.slice(k, k + 3), p.slice(k + 3, k + 6), p.slice(k + 6, k + 9)];
      ends.push(...a, ...b, ...b, ...c, ...c, ...a);
    }
    uploaded.lines = { positions: createBuffer(gl, ends), count: ends.length / 3 };
  }
  return uploaded.lines;
}

function bindAttribute(gl, program, name, buffer, size) {
  const place = program.attributes[name];
  if (place === undefined) return;
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.enableVertexAttribArray(place);
  gl.vertexAttribPointer(place, size, gl.FLOAT, false, 0, 0);
}

// A texture to draw depths into, packed in RGBA because WebGL 1 promises no depth textures.
function createShadowMap(gl, wanted) {
  const size = Math.min(wanted, gl.getParameter(gl.MAX_TEXTURE_SIZE), gl.getParameter(gl.MAX_RENDERBUFFER_SIZE));
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, size, size, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  const depth = gl.createRenderbuffer();
  gl.bindRenderbuffer(gl.RENDERBUFFER, depth);
  gl.renderbufferStorage(gl.RENDERBUFFER, gl.DEPTH_COMPONENT16, size, size);
  const target = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, target);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
  gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.RENDERBUFFER, depth);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  return { size, texture, target };
}
