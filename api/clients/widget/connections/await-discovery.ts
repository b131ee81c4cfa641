import {useEffect, useState} from 'preact/hooks'
import {html} from '../html.ts'
import {may} from '../state/session.ts'
import {t} from '../text/schedules.ts'
import {Problem} from '../ui/notice.ts'
import {Progress} from '../ui/progress.ts'
import {readDiscovery, runDiscovery} from './discovery.ts'

const lookEveryMs = 2000

type AwaitProps = {connection: string; onRead: () => void}

/**
 * Waits for the first discovery of a connection, which takes seconds to minutes. An admin's page starts the discovery, or follows the job that
 * already runs.
 */
export const AwaitDiscovery = ({connection, onRead}: AwaitProps) => {
  const [round, setRound] = useState(0)
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    const gone = new AbortController()
    setError(null)
    const wait = may('admin') ? runDiscovery(connection, {signal: gone.signal}) : untilRead(connection, gone.signal)
    wait.then(
      () => gone.signal.aborted || onRead(),
      reason => gone.signal.aborted || setError(reason),
    )
    return () => gone.abort()
  }, [connection, round])
  if (error) return html`<${Problem} error=${error} title=${t.couldNotReadTheModulesAndFields} again=${() => setRound(round + 1)} />`
  return html`<${Progress} label=${t.readingTheCrmsModulesAndFields} done=${0} total=${null} text=${t.readingYourCrmsModules} />`
}

/** Waits until a discovery exists. Members below admin may not start one, so they can only wait. */
const untilRead = async (connection: string, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted && !(await readDiscovery(connection, signal))) await new Promise(resolve => setTimeout(resolve, lookEveryMs))
}
