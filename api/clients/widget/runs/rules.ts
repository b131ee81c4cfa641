import {html} from '../html.ts'
import {t} from '../text/decide.ts'
import {Select} from '../ui/field.ts'
import {sayName} from '../ui/labels.ts'
import {askersOf, type Question, type Rule} from './answering.ts'

type RulesProps = {questions: Question[]; rules: Rule[]; onRule: (rule: Rule) => void}

/**
 * A form that answers all questions of a group at once. A retry and later runs of the import apply the answer to questions without an individual
 * answer. This run does not change.
 */
export const Rules = ({questions, rules, onRule}: RulesProps) => html`
  <section class="sheet run-rules" aria-labelledby="rules">
    <h2 id="rules">${t.answerAll}</h2>
    ${askersOf(questions).map(({flowId, kind, field, module, label, questions: asked}) => {
      const rule = rules.find(one => one.flowId === flowId && one.kind === kind && (one.field ?? null) === field)
      return html`
        <${Select}
          key=${`${kind} ${flowId} ${field}`}
          label=${labelOf(kind, sayName(module), label)}
          hint=${t.questionsOnThisPageIndividual(asked)}
          value=${rule?.choice ?? 'ask'}
          options=${optionsOf(kind)}
          onChange=${(choice: string) => onRule({flowId, kind, ...(field !== null && {field}), choice: choice as Rule['choice']})}
        />
      `
    })}
  </section>
`

const labelOf = (kind: Question['kind'], module: string, field: string | null) => {
  if (kind === 'edit') return t.ifPeopleChangedIn(field, module)
  return kind === 'match' ? t.ifRowsMatchSeveralRecordsIn(module) : t.ifALookupMatchesSeveralRecordsIn(module)
}

const optionsOf = (kind: Question['kind']) => {
  const ask = {value: 'ask', label: t.askAboutEach}
  if (kind === 'edit') return [ask, {value: 'keep', label: t.keepTheCrmsValues}, {value: 'overwrite', label: t.overwriteWithTheFilesValues}]
  return [
    ask,
    {value: 'first', label: t.useTheOldestRecord},
    {value: 'create', label: kind === 'match' ? t.createANewRecord : t.leaveTheLookupEmpty},
    {value: 'skip', label: t.skipTheRows},
  ]
}
