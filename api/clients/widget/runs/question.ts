import {useId} from 'preact/hooks'
import {html} from '../html.ts'
import {t} from '../text/decide.ts'
import {at, count} from '../ui/format.ts'
import {sayName} from '../ui/labels.ts'
import {Pill} from '../ui/pill.ts'
import {type Candidate, type Choice, chosenOf, isSame, type Question, sayRows} from './answering.ts'
import {type ComparedField, compareCandidates} from './compare-candidates.ts'
import {EditSheet, type ReadCell} from './edit-question.ts'
import {type OptionProps, Plain} from './plain-choice.ts'
import type {QuestionRow} from './question-rows.ts'

type QuestionProps = {
  question: Question
  draft: Choice | undefined
  row: QuestionRow | null
  onChoose: (choice: Choice) => void
  readCell: ReadCell
}

export const QuestionSheet = (props: QuestionProps) =>
  props.question.kind === 'edit' ? html`<${EditSheet} ...${props} />` : html`<${ChoiceSheet} ...${props} />`

const ChoiceSheet = ({question, draft, row, onChoose}: QuestionProps) => {
  const {kind, module, field, found, candidates, answer} = question
  const chosen = chosenOf(question, draft)
  const name = useId()
  const option = (choice: Choice) => ({name, isChosen: isSame(chosen, choice), choose: () => onChoose(choice)})
  // A lookup's candidates are records of another module, so the row's cells are not compared with them.
  const fields = compareCandidates(question, (kind === 'match' && row?.byField) || new Map())
  const into = sayName(module)
  return html`
    <fieldset class="run-question sheet">
      <legend>
        ${kind === 'match' ? t.whichRecordMatches(into, sayRows(question), question.rows) : t.whichRecordToLink(into, sayRows(question), question.rows, field ? t.byField(sayName(field)) : '')}
      </legend>
      <p class="quiet">
        ${t.recordsMatch(count(found))}${candidates.length < found ? t.areShown(count(candidates.length)) : ''}.
        ${' '}${draft ? html`<${Pill} tone="warning">${t.notSavedYet}<//>` : answer && html`<${Pill} tone="good">${t.answered(at(answer.at))}<//>`}
      </p>
      <div class="candidates">
        ${row && html`<${RowCard} row=${row} fields=${kind === 'match' ? fields : []} lookup=${kind === 'lookup' ? field : null} />`}
        ${candidates.map((candidate, index) => html`<${CandidateCard} key=${candidate.id} candidate=${candidate} index=${index} fields=${fields} ...${option({recordId: candidate.id})} />`)}
      </div>
      <div class="row run-otherwise">
        <${Plain} ...${option({choice: 'create'})}>${kind === 'match' ? t.noneOfTheseCreateANewRecord : t.noneOfTheseLeaveTheLookupEmpty}<//>
        <${Plain} ...${option({choice: 'skip'})}>${question.rows === 1 ? t.skipThisRow : t.skipTheseRows}<//>
      </div>
    </fieldset>
  `
}

/** The row of the file. For a match: the compared fields. For a lookup: the searched value, then the key columns. */
const RowCard = ({row, fields, lookup}: {row: QuestionRow; fields: ComparedField[]; lookup: string | null}) => {
  const lines =
    lookup === null
      ? fields.map(({label, own}) => ({label, value: own}))
      : [{label: sayName(lookup), value: row.byField.get(lookup) ?? null}, ...row.keys.map(({column, value}) => ({label: column, value}))]
  return html`
    <section class="candidate own" aria-label=${t.rowOfTheFile(count(row.number))}>
      <div>
        <strong>${t.rowOfYourFile(count(row.number))}</strong>
        <dl>${lines.map(({label, value}) => html`<div><dt>${label}</dt><dd>${value === null ? html`<span class="quiet">${t.notMapped}</span>` : value || html`<span class="quiet">${t.empty}</span>`}</dd></div>`)}</dl>
      </div>
    </section>
  `
}

type CardProps = OptionProps & {candidate: Candidate; index: number; fields: ComparedField[]}

const CandidateCard = ({candidate, index, fields, name, isChosen, choose}: CardProps) => {
  const id = useId()
  const {Created_Time: created, $url: url} = candidate
  return html`
    <div class=${`candidate ${isChosen ? 'chosen' : ''}`}>
      <input type="radio" id=${id} name=${name} checked=${isChosen} onChange=${choose} />
      <div class="grow">
        <label for=${id}>
          <strong>${candidate.$display_name ?? candidate.id}</strong>
          <dl>
            ${fields.map(({label, values, isSame: same}) => {
              const {text, differs} = values[index]!
              const shown = text || html`<span class="quiet">${t.empty}</span>`
              return html`<div class=${same ? 'quiet' : ''}><dt>${label}</dt><dd>${differs ? html`<mark>${shown}</mark><span class="unseen"> ${t.differsFromTheRow}</span>` : shown}</dd></div>`
            })}
            ${typeof created === 'string' && html`<div><dt>${t.created}</dt><dd>${at(created)}</dd></div>`}
          </dl>
          ${!url && html`<span class="hint">${t.record} <code>${candidate.id}</code></span>`}
        </label>
        ${url && html`<p class="hint"><a href=${url} target="_blank" rel="noopener noreferrer">${t.openInCrm}<span class="unseen"> ${t.recordInANewTab(candidate.id)}</span></a></p>`}
      </div>
    </div>
  `
}
