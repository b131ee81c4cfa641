import {Refusal} from '../errors.ts'
import {checkLibrary} from '../expressions/library.ts'
import {openSandbox, type Sandbox} from '../expressions/sandbox.ts'
import type {PublishedLibrary} from './library.ts'

/** Each takes a thread with a sandbox of its own for a moment; more wait in line, as many as a process may be asked for. */
const checksAtOnce = 2
const mostWaiting = 20

let running = 0
const line: (() => void)[] = []

/** Loads the library in a fresh sandbox and runs its examples. Throws what stopped it, with line and column where there is one. */
export const assertLoads = (namespace: string, published: PublishedLibrary): Promise<void> =>
  inLine(async () => {
    const sandbox = openSandbox()
    try {
      const checked = await check(sandbox, {...published, namespace})
      if (checked) throw checked
    } finally {
      await sandbox.close()
    }
  })

const check = async (sandbox: Sandbox, given: PublishedLibrary & {namespace: string}): Promise<Refusal | null> => {
  const checked = await checkLibrary(sandbox, given)
  if (checked.ok) return null
  const {code, message, line, column} = checked
  const place = line === null ? '' : ` (line ${line}, column ${column})`
  return new Refusal(code, `${given.namespace}: ${message}${place}`, {line, column})
}

const inLine = async (work: () => Promise<void>) => {
  if (running >= checksAtOnce) {
    if (line.length >= mostWaiting)
      throw new Refusal('BUSY', 'Too many libraries are being published at once: send it again in a moment', {retryAfterMs: 2_000})
    await new Promise<void>(resolve => line.push(resolve))
  } else running++
  try {
    await work()
  } finally {
    const next = line.shift()
    if (next) next()
    else running--
  }
}
