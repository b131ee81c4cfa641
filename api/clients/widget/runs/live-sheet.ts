import {useState} from 'preact/hooks'
import {html, type Markup} from '../html.ts'
import {embed} from '../state/embed.ts'
import {useDoing} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/runs.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {at, count, duration, percentDone, rate as sayRate} from '../ui/format.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Pill} from '../ui/pill.ts'
import {Progress} from '../ui/progress.ts'
import {OutcomeChart} from './chart.ts'
import {expectFocus, useExpectedFocus} from './focus.ts'
import {LeaveNotice, useProgressTitle} from './leave-notice.ts'
import {type Live, useSpoken} from './live.ts'
import {Outcomes} from './outcomes.ts'
import {etaOf} from './rate.ts'
import {kindOf, type Run, sayCancelEffect, sayRange, sayState} from './run.ts'
import {StopAndUndo} from './stop-and-undo.ts'
import {whyOf} from './why.ts'

export const RunLine = ({run}: {run: Run}) => {
  const {word, tone} = sayState(run)
  const range = sayRange(run.rows)
  const took = run.startedAt && run.endedAt ? Date.parse(run.endedAt) - Date.parse(run.startedAt) : null
  const facts = [
    range && t.ofEveryFile(range),
    // Events do not contain the start time, so `startedAt` may be null for a run that was followed from its start.
    run.startedAt ? t.started(at(run.startedAt)) : run.state === 'authorised' || run.state === 'queued' ? t.notStarted : null,
    took !== null && t.took(sayTook(took)),
  ]
  return html`<p class="run-line"><strong>${kindOf(run)}</strong> <${Pill} tone=${tone}>${word}<//> <span class="quiet">${facts.filter(Boolean).join(' · ')}</span></p>`
}

const sayTook = (ms: number): string => (ms < 1000 ? t.lessThanASecond : duration(ms))

/** Explains why a run is paused or stopped, and what to do. `actions` replaces the usual link, which embedded pages do not have. */
export const WhyNotice = ({run, actions}: {run: Run; actions?: Markup}) => {
  const why = whyOf(run)
  if (!why) return null
  const go = why.go && !embed.value && html`<a class="button" href=${to(...why.go.parts)}>${why.go.label}</a>`
  return html`
    <${Notice} kind=${run.stop?.stopped === 'CANCELLED' ? 'info' : 'warning'} title=${why.title} actions=${actions ?? go}>
      ${why.message && html`<p>${why.message}</p>`}
      ${why.todo && html`<p>${why.todo}</p>`}
    <//>
  `
}

type SheetProps = {importId: string; run: Run; live: Live; stopAndUndo: () => Promise<void>}

export const LiveSheet = ({importId, run, live, stopAndUndo}: SheetProps) => {
  const {progress} = run
  const focused = useExpectedFocus()
  const done = progress?.done ?? 0
  const isHeld = run.pause?.code === 'GUARD'
  useProgressTitle(progress && percentDone(done, progress.total))
  const spoken = useSpoken(
    `${sayState(run).word}. ${progress ? t.ofRows(count(done), progress.total, percentDone(done, progress.total)) : ''}`,
  )
  return html`
    <section ref=${focused} tabindex="-1" class="sheet live-run" aria-label=${t.inProgress(kindOf(run))}>
      <div class="live-head"><${RunLine} run=${run} /> <${Cancel} importId=${importId} run=${run} /></div>
      <p class="unseen" role="status">${spoken}</p>
      <${Progress} label=${t.rowsDone} done=${done} total=${progress?.total ?? null} text=${sayProgress(run, live)} />
      ${live.isPolled && html`<p class="hint">${t.liveUpdatesAreNotAvailableSoThis}</p>`}
      ${!isHeld && html`<${LeaveNotice} run=${run} />`}
      <${WhyNotice} run=${run} actions=${isHeld && may('builder') ? html`<${Resume} importId=${importId} run=${run} /><${StopAndUndo} importId=${importId} run=${run} work=${stopAndUndo} />` : undefined} />
      <div class="live-picture">
        ${live.samples.some(({parts}) => parts.some(rows => rows > 0)) ? html`<${OutcomeChart} samples=${live.samples} />` : html`<p class="chart-frame quiet">${t.theChartStartsWithTheFirstRows}</p>`}
        <${Outcomes} run=${run} importId=${null} />
      </div>
    </section>
  `
}

const sayProgress = (run: Run, {rate}: Live) => {
  if (!run.progress) return t.theNumberOfRowsIsNotKnown
  const {done, total} = run.progress
  const isWriting = run.state === 'writing' && !run.stop
  const eta = isWriting ? etaOf(run, rate) : null
  const speed = rate === null || !isWriting ? null : t.rowsPerSecond(sayRate(rate))
  return [t.doneOf(count(done), total), percentDone(done, total), speed, eta === null ? null : t.aboutLeft(duration(eta))]
    .filter(Boolean)
    .join(' · ')
}

const Resume = ({importId, run}: {importId: string; run: Run}) => {
  const resume = useDoing(async () => {
    await client.post(inOrg(`/imports/${importId}/runs/${run.id}/resume`))
    expectFocus()
    say(t.resumingTheRun)
  })
  return html`<${Button} onClick=${resume.run} isBusy=${resume.isBusy}>${t.resumeRun}<//> <${Problem} error=${resume.error} />`
}

const Cancel = ({importId, run}: {importId: string; run: Run}) => {
  const [isAsking, setAsking] = useState(false)
  const cancel = async () => {
    await client.post(inOrg(`/imports/${importId}/runs/${run.id}/cancel`))
    expectFocus()
    say(t.cancellingTheRun)
  }
  if (run.stop || !may('operator')) return null
  return html`
    <${Button} kind="danger" onClick=${() => setAsking(true)}>${run.dryRun ? t.cancelDryRun : t.cancelRun}<//>
    ${
      isAsking &&
      html`
        <${Confirm} title=${run.dryRun ? t.cancelTheDryRun : t.cancelTheRun} action=${run.dryRun ? t.cancelDryRun : t.cancelRun} back=${t.keepRunning} isDangerous work=${cancel} onClose=${() => setAsking(false)}>
          <p>${sayCancelEffect(run)}</p>
        <//>
      `
    }
  `
}
