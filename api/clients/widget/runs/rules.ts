import {html} from '../html.ts'
import {Select} from '../ui/field.ts'
import {plural} from '../ui/format.ts'
import {askersOf, type Question, type Rule} from './answering.ts'

type RulesProps = {questions: Question[]; rules: Rule[]; onRule: (rule: Rule) => void}

/** One answer for all alike: it holds for questions without an answer of their own, in this run and in later ones. */
export const Rules = ({questions, rules, onRule}: RulesProps) => html`
  <section class="sheet run-rules" aria-labelledby="rules">
    <h2 id="rules">All alike</h2>
    ${askersOf(questions).map(({flowId, kind, module, questions: asked}) => {
      const rule = rules.find(one => one.flowId === flowId && one.kind === kind)
      const label = kind === 'match' ? `Where rows match several records in ${module}` : `Where a link fits several records in ${module}`
      return html`
        <${Select}
          key=${`${kind} ${flowId}`}
          label=${label}
          hint=${`${plural(asked, 'question')} on this page. An answer of its own goes before this.`}
          value=${rule?.choice ?? 'ask'}
          options=${[
            {value: 'ask', label: 'Ask about each'},
            {value: 'first', label: 'Take the oldest record'},
            {value: 'create', label: kind === 'match' ? 'Make a new record' : 'Write the row without the link'},
            {value: 'skip', label: 'Skip the rows'},
          ]}
          onChange=${(choice: string) => onRule({flowId, kind, choice: choice as Rule['choice']})}
        />
      `
    })}
  </section>
`
