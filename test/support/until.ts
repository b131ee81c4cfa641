import {setTimeout as pause} from 'node:timers/promises'

/** Polls until `isWanted` accepts the value, and returns it. Throws with the last value after `seconds`. */
export const until = async <T>(look: () => Promise<T> | T, isWanted: (seen: T) => boolean, seconds = 120): Promise<T> => {
  for (const deadline = Date.now() + seconds * 1000; ; await pause(25)) {
    const seen = await look()
    if (isWanted(seen)) return seen
    if (Date.now() > deadline) throw new Error(`It did not happen within ${seconds} s; seen last: ${JSON.stringify(seen)}`)
  }
}
