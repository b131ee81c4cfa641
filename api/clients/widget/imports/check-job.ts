import {useEffect, useState} from 'preact/hooks'
import type {Job} from '../../follow-job.ts'
import {embed} from '../state/embed.ts'
import {untilDone} from '../state/jobs.ts'
import {useKept} from '../state/kept.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import type {LoadedImport} from './known.ts'

const lookEveryMs = 2000

/**
 * Starts a check and follows its job, also after a reload of the page, then reloads the import. If this tab does not follow the job of a running
 * check, the import is reloaded every two seconds.
 */
export const useCheck = ({import: {id}, checks, again}: LoadedImport) => {
  const [jobId, setJob, forget] = useKept<string | null>(`check ${id}`, null)
  const [progress, setProgress] = useState<Job['progress']>(null)
  const [failed, setFailed] = useState<unknown>(null)
  const start = useDoing(async () => {
    setFailed(null)
    const {job} = await client.post(inOrg(`/imports/${id}/checks`), {})
    // An embed token may not read jobs, so the import is reloaded until the check ends.
    if (embed.value) await again()
    else setJob(job.id)
  })
  useEffect(() => {
    if (jobId === null) return
    const gone = new AbortController()
    const end = (error: unknown) => {
      if (gone.signal.aborted) return
      setFailed(error)
      setProgress(null)
      forget()
      again()
    }
    untilDone(jobId, {signal: gone.signal, tell: job => setProgress(job.progress)}).then(() => end(null), end)
    return () => gone.abort()
  }, [jobId])
  const isElsewhere = jobId === null && (checks?.checks.state === 'queued' || checks?.checks.state === 'running')
  useEffect(() => {
    if (!isElsewhere) return
    const timer = setInterval(again, lookEveryMs)
    return () => clearInterval(timer)
  }, [isElsewhere])
  return {isBusy: start.isBusy || jobId !== null || isElsewhere, progress, failed, start}
}
