import type { ChildProcess } from 'node:child_process'
import type { FromHost } from '../shared/messages.ts'
import type { WorkerRole } from '../worker/ipc.ts'
import { type Carrier, forkProcess, type LifeEvents, letGo, tellProcess } from './carrier.ts'

/** A process that hosts both roles, and whose lives are in it. */
interface HostProcess {
  readonly child: ChildProcess
  readonly lives: Map<WorkerRole, LifeEvents>
}

/**
 * Both workers of one model in one process, which begins with whichever comes first. A life of prefill begins and ends in it; with
 * decode's, or when the process ends however it may, both lives are over.
 */
export const sharedProcess = (module: URL): Carrier => {
  let host: HostProcess | null = null

  const open = (model: string): HostProcess => {
    const lives = new Map<WorkerRole, LifeEvents>()
    const child = forkProcess(module, [model], (how) => {
      if (host?.child === child) host = null
      end([...lives.keys()], how)
    })
    const end = (roles: readonly WorkerRole[], how: string): void => {
      const over = roles.flatMap((role) => lives.get(role) ?? [])
      // All are over before the first is told: it may begin the next life at once.
      for (const role of roles) lives.delete(role)
      for (const life of over) life.ended(how)
    }
    child.on('message', (message: FromHost) => {
      if (message.kind === 'ended') end([message.role], message.reason)
      else lives.get(message.role)?.message(message.message)
    })
    return { child, lives }
  }

  return {
    begin: (init, events) => {
      const { role, model } = init
      host ??= open(model)
      const { child, lives } = host
      lives.set(role, events)
      tellProcess(child, { kind: 'to', role, message: { kind: 'init', init } })
      return {
        pid: child.pid ?? null,
        send: (message) => tellProcess(child, { kind: 'to', role, message }),
        kill: (reason) => {
          // Decode's end is the process's; and whom the process does not hear of any more, only its end can end.
          if (role === 'decode' || !child.connected) child.kill('SIGKILL')
          else tellProcess(child, { kind: 'end', role, reason })
        },
        stop: () => letGo(child),
      }
    },
  }
}
