import {html} from '../html.ts'
import {Select} from '../ui/field.ts'
import {plural} from '../ui/format.ts'
import {sayName} from '../ui/labels.ts'
import {askersOf, type Question, type Rule} from './answering.ts'

type RulesProps = {questions: Question[]; rules: Rule[]; onRule: (rule: Rule) => void}

/**
 * A form that answers all similar questions at once. The answer applies to questions without one of their own, in this run and later ones.
 */
export const Rules = ({questions, rules, onRule}: RulesProps) => html`
  <section class="sheet run-rules" aria-labelledby="rules">
    <h2 id="rules">Answer all</h2>
    ${askersOf(questions).map(({flowId, kind, field, module, label, questions: asked}) => {
      const rule = rules.find(one => one.flowId === flowId && one.kind === kind && (one.field ?? null) === field)
      return html`
        <${Select}
          key=${`${kind} ${flowId} ${field}`}
          label=${labelOf(kind, sayName(module), label)}
          hint=${`${plural(asked, 'question')} on this page. Individual answers take precedence.`}
          value=${rule?.choice ?? 'ask'}
          options=${optionsOf(kind)}
          onChange=${(choice: string) => onRule({flowId, kind, ...(field !== null && {field}), choice: choice as Rule['choice']})}
        />
      `
    })}
  </section>
`

const labelOf = (kind: Question['kind'], module: string, field: string | null) => {
  if (kind === 'edit') return `If people changed ${field} in ${module}`
  return kind === 'match' ? `If rows match several records in ${module}` : `If a lookup matches several records in ${module}`
}

const optionsOf = (kind: Question['kind']) => {
  const ask = {value: 'ask', label: 'Ask about each'}
  if (kind === 'edit')
    return [ask, {value: 'keep', label: 'Keep the CRM’s values'}, {value: 'overwrite', label: 'Overwrite with the file’s values'}]
  return [
    ask,
    {value: 'first', label: 'Use the oldest record'},
    {value: 'create', label: kind === 'match' ? 'Create a new record' : 'Leave the lookup empty'},
    {value: 'skip', label: 'Skip the rows'},
  ]
}
