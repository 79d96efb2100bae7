/**
 * A worker as it is, but for what decode says of its guard rows: from one of its drills on they don't fire. The model's name
 * ends in that drill's number, counted from 0.
 */
const [role, model] = process.argv.slice(2)
const failingFrom = Number(model.split('-').at(-1))
const send = process.send.bind(process)
let drills = 0

process.send = (message, ...rest) => {
  if (role !== 'decode' || message.kind !== 'drilled') return send(message, ...rest)
  const fails = drills >= failingFrom
  drills += 1
  const findings = message.findings.map((finding) =>
    fails && finding.detector === 'guard_row' ? { ...finding, armed: false, detail: 'saw silent' } : finding,
  )
  return send({ ...message, findings }, ...rest)
}

await import('../../dist/runtime/worker-main.js')
