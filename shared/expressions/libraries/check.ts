import {openLimiter} from '../../concurrency/limiter.ts'
import {Refusal} from '../../errors.ts'
import {checkLibrary} from '../library.ts'
import {openSandbox, type Sandbox} from '../sandbox.ts'
import type {PublishedLibrary} from './library.ts'

/** Limits concurrent checks to two, because each check occupies a sandbox thread. Up to 20 checks wait in a queue; further ones are refused. */
const inLine = openLimiter(2, {
  mostWaiting: 20,
  says: 'Too many libraries are being published at the moment. Try again in a few seconds',
})

/** Loads the library in a new sandbox and runs its examples. Throws a Refusal with the first problem, and with line and column if known. */
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

const check = async (sandbox: Sandbox, publishedLibrary: PublishedLibrary & {namespace: string}): Promise<Refusal | null> => {
  const checked = await checkLibrary(sandbox, publishedLibrary)
  if (checked.ok) return null
  const {code, message, line, column} = checked
  const place = line === null ? '' : ` (line ${line}, column ${column})`
  return new Refusal(code, `${publishedLibrary.namespace}: ${message}${place}`, {line, column})
}
