import {signal} from '@preact/signals'

/** Whether other scripts are served by now than those this page runs: the service was updated, and the page is of before. */
export const isOutdated = signal(false)

const lookEveryMs = 10 * 60_000
/** Of this build: its address has the build's name in it. */
const ownScript = new URL('../main.ts', import.meta.url)

/** Asks the server itself, past what the browser keeps; scripts of another build are answered, and not to be kept. Who cannot be reached, and who refuses, says nothing of builds. */
export const lookForUpdate = async (): Promise<void> => {
  const answer = await fetch(ownScript, {method: 'HEAD', cache: 'no-store'}).catch(() => null)
  if (answer?.ok && answer.headers.get('cache-control') === 'no-store') isOutdated.value = true
}

setInterval(() => document.hidden || lookForUpdate(), lookEveryMs)
document.addEventListener('visibilitychange', () => document.hidden || lookForUpdate())
