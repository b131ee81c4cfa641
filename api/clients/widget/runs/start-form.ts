import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {embed} from '../state/embed.ts'
import {useKept} from '../state/kept.ts'
import {useDoing} from '../state/load.ts'
import {to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {Select, TextField} from '../ui/field.ts'
import type {ExpectedRows} from './expected-rows.ts'
import {type Draft, draftOf, noDraft, rowsIn} from './start.ts'
import {StartProblem} from './start-problem.ts'
import {startRun} from './start-run.ts'
import {VerifyChoice, type VerifyDraft} from './verify-choice.ts'

type Sized = {rows: number; struck: number}
type FormProps = {
  importId: string
  templateId: string | null
  sources: Sized[]
  isHindered: boolean
  /** Why the run must be confirmed, or null. */
  warning: string | null
  /** The expected result of a run over all rows. Null if it is not known. */
  expected: ExpectedRows | null
  /** Whether a flow accepts automations, so that bulk jobs may write its records. */
  mayUseJobs: boolean
  onStarted: (run: string) => void
}

/** Starts a run without a confirmation, because the review is on the same page. Only a `warning` must be confirmed. */
export const StartForm = ({importId, templateId, sources, isHindered, warning, expected, mayUseJobs, onStarted}: FormProps) => {
  const [draft, setDraft, forget] = useKept<Draft>(`start ${importId} real`, noDraft)
  // The browser tab remembers the choice for the next import of the same template.
  const [verify, setVerify] = useKept<VerifyDraft>(`compare ${templateId ?? importId}`, templateId ? 'inherited' : 'off')
  const [isAsking, setAsking] = useState(false)
  const {body, problems} = draftOf(mayUseJobs ? draft : {...draft, write: ''})
  const planned = Math.min(
    sources.reduce((sum, source) => sum + rowsIn(source, body.rows), 0),
    body.declaredRows ?? Number.POSITIVE_INFINITY,
  )
  const start = async () => {
    const run = await startRun(importId, {...body, ...(!embed.value && verify !== 'inherited' && {verify})})
    forget()
    onStarted(run)
  }
  const starting = useDoing(start)
  const problem = (error: unknown) =>
    html`<${StartProblem} error=${error} importId=${importId} onFewer=${(rows: number) => set('most')(String(rows))} />`
  const set = (key: keyof Draft) => (value: string) => setDraft(before => ({...before, [key]: value}))
  const submit = (event: Event) => {
    event.preventDefault()
    if (Object.keys(problems).length > 0 || planned === 0) return
    if (warning === null) starting.run()
    else setAsking(true)
  }
  if (!may('operator')) return null
  const isPart = body.rows !== undefined || body.declaredRows !== undefined
  const known = isPart ? null : expected
  // Excluded rows may lie inside or outside the chosen rows.
  const isExact = known ? known.isExact : body.rows === undefined || sources.every(({struck}) => struck === 0)
  const label = sayImport(planned, known, isExact)
  const isFixing = known !== null && known.ready === 0 && known.attention > 0
  return html`
    <form class="start-form" onSubmit=${submit} novalidate>
      <details open=${isPart || Object.keys(problems).length > 0}>
        <summary>${t.importOnlySomeRows}</summary>
        <div class="opened start-fields">
          <${TextField} label=${t.fromRow} value=${draft.from} onInput=${set('from')} error=${problems.from} inputmode="numeric" placeholder="1" />
          <${TextField} label=${t.toRow} value=${draft.to} onInput=${set('to')} error=${problems.to} inputmode="numeric" placeholder=${t.last} />
          <${TextField} label=${t.maximumRows} value=${draft.most} onInput=${set('most')} error=${problems.most} inputmode="numeric" placeholder=${t.all} />
        </div>
      </details>
      ${mayUseJobs && html`<${Select} label=${t.writeRecordsBy} hint=${t.bulkJobsCostLess} value=${draft.write ?? ''} options=${writeRoutes} onChange=${set('write')} />`}
      ${!embed.value && html`<${VerifyChoice} mode=${verify} canInherit=${templateId !== null} onChange=${setVerify} />`}
      ${planned === 0 && html`<p class="wrong">${t.noFileOfThisImportHasThese}</p>`}
      ${problem(starting.error)}
      <div class="actions">
        <${Button} kind=${isFixing ? 'plain' : 'main'} type="submit" isBusy=${starting.isBusy} disabled=${isHindered || planned === 0}>${label}<//>
        ${known !== null && known.attention > 0 && html`<a class=${isFixing ? 'button main' : 'button'} href=${to('imports', importId, 'review', {tab: 'errors'})}>${t.fixFirst}</a>`}
      </div>
    </form>
    ${isAsking && html`<${Confirm} title=${t.createRecordsASecondTime} action=${label} isDangerous=${true} work=${start} problem=${problem} onClose=${() => setAsking(false)}><p>${warning}</p><//>`}
  `
}

const writeRoutes = [
  {value: '', label: t.asTheMappingSays},
  {value: 'records', label: t.byRecordCalls},
  {value: 'bulk', label: t.byBulkJobs},
  {value: 'auto', label: t.theCheaperWay},
]

const sayImport = (planned: number, known: ExpectedRows | null, isExact: boolean): string =>
  known?.ready === 0 ? t.startRun : (isExact ? t.importRows : t.importUpTo)(known?.ready ?? planned)
