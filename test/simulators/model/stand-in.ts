import {type Answer, plainAnswer, type Question, type Script} from './answers.ts'
import {createFaults} from './faults.ts'

/** One request as it came, whatever became of it. `gone`: its caller left before the answer was whole. */
export type Entry = {path: string; headers: Record<string, string>; body: string; gone: boolean}

export type StandInOptions = {key?: string; paceMs?: number}

export const createStandIn = ({key = 'key-of-the-stand-in', paceMs = 0}: StandInOptions = {}) => {
  const journal: Entry[] = []
  let answers: (Answer | Script)[] = []
  let standing: Script = plainAnswer
  return {
    key,
    /** Between the events of a stream. */
    paceMs,
    journal,
    faults: createFaults(),
    keep(entry: Omit<Entry, 'gone'>): Entry {
      const kept = {...entry, gone: false}
      journal.push(kept)
      return kept
    },
    /** Says these one after another; then what is always said. */
    script: (...next: (Answer | Script)[]) => void answers.push(...next),
    /** Says this whenever nothing else is scripted. */
    always(script: Script) {
      standing = script
    },
    next(question: Question): Answer {
      const next = answers.shift() ?? standing
      return typeof next === 'function' ? next(question) : next
    },
    /** Everything it was ever sent, headers included. */
    received: () => journal.map(({path, headers, body}) => `${path}\n${JSON.stringify(headers)}\n${body}`).join('\n'),
    /** Forgets what it was told and what it has heard. */
    clear() {
      journal.length = 0
      answers = []
      standing = plainAnswer
      this.faults.clear()
      this.faults.release()
    },
  }
}
export type StandIn = ReturnType<typeof createStandIn>
