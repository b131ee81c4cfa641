import {useId} from 'preact/hooks'
import {html} from '../html.ts'
import {at, count} from '../ui/format.ts'
import {Pill} from '../ui/pill.ts'
import {type Candidate, type Choice, chosenOf, fieldsOf, isSame, type Question, sayRows, sayValue} from './answering.ts'
import {EditSheet, type ReadCell} from './edit-question.ts'

import {type OptionProps, Plain} from './plain-choice.ts'

type QuestionProps = {question: Question; draft: Choice | undefined; onChoose: (choice: Choice) => void; readCell: ReadCell}

export const QuestionSheet = (props: QuestionProps) =>
  props.question.kind === 'edit' ? html`<${EditSheet} ...${props} />` : html`<${ChoiceSheet} ...${props} />`

/** A question with its candidates as radio buttons. */
const ChoiceSheet = ({question, draft, onChoose}: QuestionProps) => {
  const {kind, module, field, found, candidates, answer} = question
  const chosen = chosenOf(question, draft)
  const name = useId()
  const option = (choice: Choice) => ({name, isChosen: isSame(chosen, choice), choose: () => onChoose(choice)})
  const fields = fieldsOf(candidates)
  const verb = question.rows === 1 ? 'does' : 'do'
  return html`
    <fieldset class="run-question sheet">
      <legend>
        ${kind === 'match' ? `Which record in ${module} ${verb} ${sayRows(question)} match?` : `Which record in ${module} ${verb} ${sayRows(question)} link to${field ? ` by ${field}` : ''}?`}
      </legend>
      <p class="quiet">
        ${count(found)} records match${candidates.length < found ? `; ${count(candidates.length)} are shown` : ''}.
        ${' '}${draft ? html`<${Pill} tone="warning">Not saved yet<//>` : answer && html`<${Pill} tone="good">Answered ${at(answer.at)}<//>`}
      </p>
      <div class="candidates">
        ${candidates.map(candidate => html`<${CandidateCard} key=${candidate.id} candidate=${candidate} fields=${fields} ...${option({recordId: candidate.id})} />`)}
      </div>
      <div class="row run-otherwise">
        <${Plain} ...${option({choice: 'create'})}>${kind === 'match' ? 'None of these: create a new record' : 'None of these: leave the lookup empty'}<//>
        <${Plain} ...${option({choice: 'skip'})}>Skip ${question.rows === 1 ? 'this row' : 'these rows'}<//>
      </div>
    </fieldset>
  `
}

const CandidateCard = ({
  candidate,
  fields,
  name,
  isChosen,
  choose,
}: OptionProps & {candidate: Candidate; fields: {field: string; isSame: boolean}[]}) => {
  const id = useId()
  return html`
    <div class=${`candidate ${isChosen ? 'chosen' : ''}`}>
      <input type="radio" id=${id} name=${name} checked=${isChosen} onChange=${choose} />
      <label for=${id}>
        <strong>${candidate.$display_name ?? candidate.id}</strong>
        <dl>
          ${fields.map(({field, isSame: same}) => html`<div class=${same ? 'quiet' : ''}><dt>${field.replaceAll('_', ' ')}</dt><dd>${sayValue(candidate[field]) || 'empty'}</dd></div>`)}
          <div><dt>Record</dt><dd><code>${candidate.id}</code></dd></div>
        </dl>
      </label>
    </div>
  `
}
