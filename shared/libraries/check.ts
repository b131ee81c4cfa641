import {Refusal} from '../errors.ts'
import {checkLibrary} from '../expressions/library.ts'
import {openSandbox, type Sandbox} from '../expressions/sandbox.ts'
import {openLine} from '../line.ts'
import type {PublishedLibrary} from './library.ts'

/** Each takes a thread with a sandbox of its own for a moment; more wait in line, as many as a process may be asked for. */
const inLine = openLine({
  ...{atOnce: 2, mostWaiting: 20},
  says: 'Too many libraries are being published at once: send it again in a moment',
})

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
