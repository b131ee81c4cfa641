import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html, type Markup} from '../html.ts'
import {useKept} from '../state/kept.ts'
import {useDoing} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {TextField} from '../ui/field.ts'
import {plural} from '../ui/format.ts'
import type {ExpectedRows} from './expected-rows.ts'
import {type Draft, draftOf, noDraft, rowsIn} from './start.ts'
import {StartProblem} from './start-problem.ts'

type Sized = {rows: number; struck: number}
type FormProps = {
  importId: string
  sources: Sized[]
  dryRun: boolean
  target: string
  isHindered?: boolean
  /** What is known of the rows of a run. It applies only to a run over all rows. */
  expected?: ExpectedRows | null
  onStarted: (run: string) => void
}

/** The form to start a run: row range and maximum. A run that writes asks for confirmation. */
export const StartForm = ({importId, sources, dryRun, target, isHindered = false, expected = null, onStarted}: FormProps) => {
  const [draft, setDraft, forget] = useKept<Draft>(`start ${importId} ${dryRun ? 'dry' : 'real'}`, noDraft)
  const [isAsking, setAsking] = useState(false)
  const {body, problems} = draftOf(draft)
  const planned = Math.min(
    sources.reduce((sum, source) => sum + rowsIn(source, body.rows), 0),
    body.declaredRows ?? Number.POSITIVE_INFINITY,
  )
  const start = async () => {
    const {run} = await client.post<{run: Json}>(inOrg(`/imports/${importId}/runs`), {...body, dryRun})
    forget()
    onStarted(run.id)
  }
  const starting = useDoing(start)
  const set = (key: keyof Draft) => (value: string) => setDraft(before => ({...before, [key]: value}))
  const submit = (event: Event) => {
    event.preventDefault()
    if (Object.keys(problems).length > 0 || planned === 0) return
    if (dryRun) starting.run()
    else setAsking(true)
  }
  if (!may('operator')) return null
  const known = !dryRun && Object.keys(body).length === 0 ? expected : null
  const label = dryRun ? `Start dry run of ${plural(planned, 'row')}` : sayImport(planned, known)
  return html`
    <form class="start-form" onSubmit=${submit} novalidate>
      <div class="start-fields">
        <${TextField} label="From row" value=${draft.from} onInput=${set('from')} error=${problems.from} inputmode="numeric" placeholder="1" />
        <${TextField} label="To row" value=${draft.to} onInput=${set('to')} error=${problems.to} inputmode="numeric" placeholder="Last" />
        ${!dryRun && html`<${TextField} label="Maximum rows" value=${draft.most} onInput=${set('most')} error=${problems.most} inputmode="numeric" placeholder="All" />`}
      </div>
      <p class="hint">${dryRun ? 'Leave empty for all rows.' : 'Leave empty to write all rows. A run that reaches the maximum stops, and you can retry it to continue.'}</p>
      ${planned === 0 && html`<p class="wrong">No file of this import has these rows.</p>`}
      ${!dryRun && html`<p class="start-expected">${known ? sayExpected(importId, known) : 'Rows that fail are reported and not written. Check the rows first to see how many.'}</p>`}
      <${StartProblem} error=${starting.error} importId=${importId} />
      <${Button} kind="main" type="submit" isBusy=${starting.isBusy} disabled=${isHindered || planned === 0}>${label}<//>
    </form>
    ${
      isAsking &&
      html`<${AskFirst} rows=${known?.ready ?? planned} attention=${known?.attention ?? 0} target=${target} label=${label} importId=${importId} start=${start} onFewer=${(
        rows: number,
      ) => {
        set('most')(String(rows))
        setAsking(false)
      }} onClose=${() => setAsking(false)} />`
    }
  `
}

const sayImport = (planned: number, known: ExpectedRows | null): string =>
  known?.ready === 0 ? 'Start run' : `Import ${known?.isExact === false ? 'up to ' : ''}${plural(known?.ready ?? planned, 'row')}`

/** Says what the last dry run or check found, with a link to it. */
const sayExpected = (importId: string, {attention, isExact, by}: ExpectedRows): Markup => {
  const link = html`<a href=${to('imports', importId, by === 'check' ? 'check' : 'try')}>${by === 'check' ? 'last check' : 'last dry run'}</a>`
  if (attention === 0) return html`No row needs attention, by the ${link}.`
  return html`<strong>${isExact ? '' : 'At least '}${plural(attention, 'row')} ${attention === 1 ? 'needs' : 'need'} attention</strong>, by the ${link}. Such rows are not imported; fix them and retry later.`
}

type AskProps = {
  rows: number
  attention: number
  target: string
  label: string
  importId: string
  start: () => Promise<void>
  onFewer: (rows: number) => void
  onClose: () => void
}

const AskFirst = ({rows, attention, target, label, importId, start, onFewer, onClose}: AskProps) => {
  const [refused, setRefused] = useState<unknown>(null)
  const work = async () => {
    setRefused(null)
    try {
      await start()
    } catch (error) {
      setRefused(error)
      throw error
    }
  }
  const said = refused === null ? null : html`<${StartProblem} error=${refused} importId=${importId} onFewer=${onFewer} />`
  return html`
    <${Confirm} title=${`Import to ${target}?`} action=${label} work=${work} onClose=${onClose} problem=${said}>
      <p>Up to ${plural(rows, 'row')} ${rows === 1 ? 'is' : 'are'} sent to ${target} to create and update records. You can cancel the run, but you cannot undo rows already written.</p>
      ${attention > 0 && html`<p>${plural(attention, 'row')} ${attention === 1 ? 'needs' : 'need'} attention and ${attention === 1 ? 'is' : 'are'} left for later.</p>`}
      <p>Each written row counts against your plan.</p>
    <//>
  `
}
