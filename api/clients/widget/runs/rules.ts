import {html} from '../html.ts'
import {Select} from '../ui/field.ts'
import {plural} from '../ui/format.ts'
import {askersOf, type Question, type Rule} from './answering.ts'

type RulesProps = {questions: Question[]; rules: Rule[]; onRule: (rule: Rule) => void}

/**
 * A form that answers all similar questions at once. The answer applies to questions without one of their own, in this run and later ones.
 */
export const Rules = ({questions, rules, onRule}: RulesProps) => html`
  <section class="sheet run-rules" aria-labelledby="rules">
    <h2 id="rules">Answer all</h2>
    ${askersOf(questions).map(({flowId, kind, module, questions: asked}) => {
      const rule = rules.find(one => one.flowId === flowId && one.kind === kind)
      const label = kind === 'match' ? `If rows match several records in ${module}` : `If a lookup matches several records in ${module}`
      return html`
        <${Select}
          key=${`${kind} ${flowId}`}
          label=${label}
          hint=${`${plural(asked, 'question')} on this page. Individual answers take precedence.`}
          value=${rule?.choice ?? 'ask'}
          options=${[
            {value: 'ask', label: 'Ask about each'},
            {value: 'first', label: 'Use the oldest record'},
            {value: 'create', label: kind === 'match' ? 'Create a new record' : 'Leave the lookup empty'},
            {value: 'skip', label: 'Skip the rows'},
          ]}
          onChange=${(choice: string) => onRule({flowId, kind, choice: choice as Rule['choice']})}
        />
      `
    })}
  </section>
`
