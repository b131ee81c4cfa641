import {signal} from '@preact/signals'

/** True if the server now serves another build than this page runs. */
export const isOutdated = signal(false)

const lookEveryMs = 10 * 60_000
/** The URL of this build's script, which contains the build name. */
const ownScript = new URL('../main.ts', import.meta.url)

/** Checks for a new build, bypassing the browser cache. The server marks scripts of other builds `no-store`. Failed requests are ignored. */
export const lookForUpdate = async (): Promise<void> => {
  const answer = await fetch(ownScript, {method: 'HEAD', cache: 'no-store'}).catch(() => null)
  if (answer?.ok && answer.headers.get('cache-control') === 'no-store') isOutdated.value = true
}

setInterval(() => document.hidden || lookForUpdate(), lookEveryMs)
document.addEventListener('visibilitychange', () => document.hidden || lookForUpdate())
