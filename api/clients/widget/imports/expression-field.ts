import {signal} from '@preact/signals'
import {useState} from 'preact/hooks'
import {ApiError} from '../../http.ts'
import {html, type Markup} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {TextArea, TextField} from '../ui/field.ts'
import {Problem} from '../ui/notice.ts'
import {type Trying, useTried} from './expression-test.ts'
import type {Sample} from './sample.ts'
import {sayTested, sayTried} from './tried.ts'

/** The field that is written, and where its import, file and module are. */
export type Target = {importId: string; sourceId: string; connectorId: string; module: string; field: string}

type Props = {
  label: string
  hint?: Markup
  error?: Markup
  value: string
  onInput: (expression: string) => void
  sample: Sample
  /** The column whose cell is `value`. */
  source?: string | null
  /** Whether the field takes what comes out is told too, and the expression may be described in words. */
  target?: Target
}

/** An expression, with what it gives on some rows of the file while it is written. */
export const ExpressionField = ({label, hint, error, value, onInput, sample, source, target}: Props) => {
  const {connectorId, module, field} = target ?? {}
  const into = connectorId && module && field ? {connectorId, module, field} : undefined
  const trying = useTried({expression: value, source: source ?? null, sample, target: into})
  return html`
    <div class="expression">
      <${TextArea} label=${label} hint=${hint ?? usualHint(source)} error=${error} value=${value} onInput=${onInput} maxlength="10000" />
      ${value.trim() && html`<${Preview} trying=${trying} />`}
      ${target && !hasNoModel.value && may('operator', 'money') && html`<${InWords} target=${target} sample=${sample} source=${source ?? null} onAnswer=${onInput} />`}
    </div>
  `
}

const usualHint = (source: string | null | undefined) => html`
  JavaScript. <code>row['Column']</code> is a cell of the row${source ? html`, <code>value</code> the cell of ${source}` : ''}; <code>helpers</code> and your libraries are there.
`
const shownRows = 5

const Preview = ({trying: {tested, error, isBusy}}: {trying: Trying}) => {
  const said = tested && sayTested(tested)
  return html`
    <div class="preview" aria-busy=${isBusy ? 'true' : 'false'}>
      <p role="status" class=${said?.isWrong ? 'wrong' : 'quiet'}>${said ? said.text : isBusy ? 'Trying it on sample rows …' : ''}</p>
      ${
        tested &&
        tested.results.length > 0 &&
        html`
        <ol class="results" aria-label="What it gives on sample rows">
          ${tested.results.slice(0, shownRows).map(one => html`<li class=${'error' in one || one.problem ? 'wrong' : ''}>${sayTried(one).slice(0, 200)}</li>`)}
        </ol>
      `
      }
      <${Problem} error=${error} />
    </div>
  `
}

/** Known once somebody asked: then nothing is offered that cannot be had. */
const hasNoModel = signal(false)

type WordsProps = {target: Target; sample: Sample; source: string | null; onAnswer: (expression: string) => void}

const InWords = ({target, sample, source, onAnswer}: WordsProps) => {
  const [question, setQuestion] = useState('')
  const [explanation, setExplanation] = useState<string | null>(null)
  const {importId, sourceId, connectorId, module, field} = target
  const ask = useDoing(async () => {
    const place = ['field', sourceId, module, field]
    try {
      const answer = await client.post('/ai/formula', {connectorId, module, field, question, source, ...sample, import: importId, place})
      setExplanation(answer.explanation)
      onAnswer(answer.expression)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'NOT_CONFIGURED') hasNoModel.value = true
      else throw error
    }
  })
  return html`
    <details class="in-words">
      <summary>Describe it in words</summary>
      <div class="opened">
        <${TextField} label="What the value should be" hint="Such as: the first name in capitals, or “Unknown” where there is none" maxlength="4000" value=${question} onInput=${setQuestion} />
        <${Button} isBusy=${ask.isBusy} disabled=${!question.trim() || sample.columns.length === 0} onClick=${() => ask.run()}>Write the expression<//>
        ${explanation && html`<p class="quiet" role="status">${explanation}</p>`}
        <${Problem} error=${ask.error} />
      </div>
    </details>
  `
}
