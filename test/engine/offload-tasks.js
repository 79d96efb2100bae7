export const tasks = {
  sum: (bytes) => bytes.reduce((sum, byte) => sum + byte, 0),
  spin: (milliseconds) => {
    const end = performance.now() + milliseconds
    while (performance.now() < end);
    return 'spun'
  },
  fail: () => {
    throw Object.assign(new Error('no'), { code: 'too_deep' })
  },
  hoard: () => {
    const held = []
    for (;;) held.push(Array.from({ length: 100_000 }, (_, at) => `${at}`))
  },
}
