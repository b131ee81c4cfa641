import {isFateUnknown} from '../../sql/database.ts'
import type {Intent} from '../../sql/ledger.ts'

/** At most this many batches in one statement, as in a settlement: beyond it those that come next wait longer than they gain. */
const together = 8

/** Keeps one batch's intent, or throws what the statement that said it throws. */
export type Intend = (intent: Intent) => Promise<void>

/**
 * Writes down the intents of a run one statement after another, those that wait meanwhile together: each statement locks the run's head to its
 * commit, and has a price of its own (a run at full speed takes a seventh less processor time so). Where several are turned away each is said
 * alone: the gate may be open for one of them, and what is wrong with one is not the others' fault. Where nobody knows what became of a
 * statement, nobody knows of any of its batches.
 */
export const openIntents = (admit: (intents: Intent[]) => Promise<void>): Intend => {
  const line: Waiting[] = []
  let busy = false

  const work = async () => {
    busy = true
    while (line.length) await admitAll(admit, line.splice(0, together))
    busy = false
  }

  return intent =>
    new Promise((resolve, reject) => {
      line.push({intent, resolve, reject})
      if (!busy) void work()
    })
}

type Waiting = {intent: Intent; resolve(): void; reject(error: unknown): void}

const admitAll = async (admit: (intents: Intent[]) => Promise<void>, taken: Waiting[]): Promise<void> => {
  try {
    await admit(taken.map(({intent}) => intent))
    for (const {resolve} of taken) resolve()
  } catch (error) {
    if (taken.length > 1 && !isFateUnknown(error)) for (const one of taken) await admitAll(admit, [one])
    else for (const {reject} of taken) reject(error)
  }
}
