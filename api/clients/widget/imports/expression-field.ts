import {signal} from '@preact/signals'
import {useState} from 'preact/hooks'
import {ApiError} from '../../http.ts'
import type {Sample} from '../../sample.ts'
import {ExpressionEditor} from '../expressions/editor.ts'
import {html, type Markup} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, may} from '../state/session.ts'
import {t} from '../text/options.ts'
import {Button} from '../ui/button.ts'
import {TextField} from '../ui/field.ts'
import {Problem} from '../ui/notice.ts'
import {type ExpressionTest, useExpressionTest} from './expression-test.ts'
import {sayTested, sayTried} from './tried.ts'

/** The field that an expression fills, and the import, source, connection and module of that field. */
export type Target = {importId: string; sourceId: string; connectorId: string; module: string; field: string}

type Props = {
  label: string
  hint?: Markup
  error?: Markup
  value: string
  onInput: (expression: string) => void
  sample: Sample
  /** The column that the expression reads as `value`. */
  source?: string | null
  /** If set, the preview also checks that the field accepts the result. The person can then also describe the expression in words. */
  target?: Target
}

export const ExpressionField = ({label, hint, error, value, onInput, sample, source, target}: Props) => {
  const {connectorId, module, field} = target ?? {}
  const into = connectorId && module && field ? {connectorId, module, field} : undefined
  const trying = useExpressionTest({expression: value, source: source ?? null, sample, target: into})
  return html`
    <div class="expression">
      <${ExpressionEditor} label=${label} hint=${hint ?? usualHint(source)} error=${error} value=${value} columns=${sample.columns} source=${source ?? null} hasExamples=${target !== undefined} onInput=${onInput} />
      ${value.trim() && html`<${Preview} trying=${trying} />`}
      ${target && !hasNoModel.value && may('operator', 'money') && html`<${InWords} target=${target} sample=${sample} source=${source ?? null} onAnswer=${onInput} />`}
    </div>
  `
}

const usualHint = (source: string | null | undefined) => html`
  ${t.javaScript} <code>row['Column']</code> ${t.isACellOfTheRow}${source ? html`, <code>value</code> ${t.theCellOf(source)}` : ''}${t.youCanUse} <code>helpers</code> ${t.andYourLibraries}
`
const shownRows = 5

const Preview = ({trying: {tested, error, isBusy}}: {trying: ExpressionTest}) => {
  const said = tested && sayTested(tested)
  return html`
    <div class="preview" aria-busy=${isBusy ? 'true' : 'false'}>
      <p role="status" class=${said?.isWrong ? 'wrong' : 'quiet'}>${said ? said.text : isBusy ? t.testingOnSampleRows : ''}</p>
      ${
        tested &&
        tested.results.length > 0 &&
        html`
        <ol class="results" aria-label=${t.resultsOnSampleRows}>
          ${tested.results.slice(0, shownRows).map(one => html`<li class=${'error' in one || one.problem ? 'wrong' : ''}>${sayTried(one).slice(0, 200)}</li>`)}
        </ol>
      `
      }
      <${Problem} error=${error} />
    </div>
  `
}

/** True once the API has reported that no AI model is configured. The input for a description in words is then hidden. */
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
      <summary>${t.describeItInWords}</summary>
      <div class="opened">
        <${TextField} label=${t.describeTheValue} hint=${t.forExampleTheFirstNameInCapitals} maxlength="4000" value=${question} onInput=${setQuestion} />
        <${Button} isBusy=${ask.isBusy} disabled=${!question.trim() || sample.columns.length === 0} onClick=${() => ask.run()}>${t.writeExpression}<//>
        ${explanation && html`<p class="quiet" role="status">${explanation}</p>`}
        <${Problem} error=${ask.error} />
      </div>
    </details>
  `
}
