import {type Answer, plainAnswer, type Question, type Script} from './answers.ts'
import {createFaults} from './faults.ts'

/** One request as received. `gone`: the caller disconnected before the answer was complete. */
export type Entry = {path: string; headers: Record<string, string>; body: string; gone: boolean}

export type SimulatorOptions = {key?: string; paceMs?: number}

export const createSimulator = ({key = 'key-of-the-stand-in', paceMs = 0}: SimulatorOptions = {}) => {
  const journal: Entry[] = []
  let answers: (Answer | Script)[] = []
  let standing: Script = plainAnswer
  return {
    key,
    /** The delay in ms between the events of a stream. */
    paceMs,
    journal,
    faults: createFaults(),
    keep(entry: Omit<Entry, 'gone'>): Entry {
      const kept = {...entry, gone: false}
      journal.push(kept)
      return kept
    },
    /** Adds the next answers. Requests beyond them get the answer of `always`. */
    script: (...next: (Answer | Script)[]) => void answers.push(...next),
    /** Sets the answer for requests without a scripted answer. */
    always(script: Script) {
      standing = script
    },
    next(question: Question): Answer {
      const next = answers.shift() ?? standing
      return typeof next === 'function' ? next(question) : next
    },
    received: () => journal.map(({path, headers, body}) => `${path}\n${JSON.stringify(headers)}\n${body}`).join('\n'),
    clear() {
      journal.length = 0
      answers = []
      standing = plainAnswer
      this.faults.clear()
      this.faults.release()
    },
  }
}
export type Simulator = ReturnType<typeof createSimulator>
