import {useEffect, useRef, useState} from 'preact/hooks'
import {followRun} from '../../follow-run.ts'
import {reportRunToHost} from '../state/embed.ts'
import {useKept} from '../state/kept.ts'
import {useNextSession} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {expectFocus} from './focus.ts'
import {addSample, firstSample, rateOf, type Sample, sampleOf} from './rate.ts'
import {isOver, type Run, withEvent} from './run.ts'

export type Live = {run: Run | null; error: unknown; samples: Sample[]; rate: number | null; isPolled: boolean; again(): void}

/**
 * Follows a run until its end. Use a `key` per run. The chart data survives a reload. `onEnd` is called only if the run ends while this page
 * follows it. `again` follows the run again after an error.
 */
export const useRun = (importId: string, runId: string, onEnd: () => void): Live => {
  const [state, setState] = useState<{run: Run | null; error: unknown; isPolled: boolean}>({run: null, error: null, isPolled: false})
  const [round, setRound] = useState(0)
  const [samples, setSamples] = useKept<Sample[]>(`run ${runId}`, [])
  const ended = useRef(onEnd)
  ended.current = onEnd
  useEffect(() => {
    const gone = new AbortController()
    let wasUnderWay = false
    const tell = (run: Run, isPolled: boolean) => {
      if (gone.signal.aborted) return
      reportRunToHost(importId, run)
      setState({run, error: null, isPolled})
      if (!isOver(run) || wasUnderWay)
        setSamples(before => addSample(before.length ? before : firstSample(run, Date.now()), sampleOf(run, Date.now())))
      if (isOver(run) && wasUnderWay) {
        if (document.activeElement?.closest('.live-run')) expectFocus()
        ended.current()
      }
      wasUnderWay = !isOver(run)
    }
    tellRun(inOrg(`/imports/${importId}/runs/${runId}`), gone.signal, tell).catch(
      error => gone.signal.aborted || setState(before => ({...before, error})),
    )
    return () => gone.abort()
  }, [importId, runId, round])
  const again = () => {
    setState(before => ({...before, error: null}))
    setRound(before => before + 1)
  }
  useNextSession(state.error, again)
  return {...state, samples, rate: rateOf(samples, Date.now()), again}
}

/** Passes the run to `tell` at once and after each event. An event contains only a part of the run, so it is merged into the known run. */
const tellRun = async (path: string, signal: AbortSignal, tell: (run: Run, isPolled: boolean) => void) => {
  let {run} = await client.get<{run: Run}>(path, {}, signal)
  tell(run, false)
  if (isOver(run)) return
  for await (const heard of followRun({client, path, signal})) {
    run = withEvent(run, heard)
    tell(run, heard.event === 'asked')
  }
}

/** Returns the text, updated at most once per `everyMs`, because screen readers announce each change. */
export const useSpoken = (words: string, everyMs = 10_000): string => {
  const [spoken, setSpoken] = useState('')
  const newest = useRef(words)
  newest.current = words
  useEffect(() => {
    const first = setTimeout(() => setSpoken(newest.current), 1_000)
    const timer = setInterval(() => setSpoken(newest.current), everyMs)
    return () => {
      clearTimeout(first)
      clearInterval(timer)
    }
  }, [everyMs])
  return spoken
}
