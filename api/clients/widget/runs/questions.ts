import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {ImportFrame} from '../imports/frame.ts'
import type {LoadedImport} from '../imports/known.ts'
import type {PageProps} from '../pages.ts'
import {useKept} from '../state/kept.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {goIfHere, place, setQuery, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {Button} from '../ui/button.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {type Answers, answersOf, type Choice, type Question, type Rule, withoutSaved} from './answering.ts'
import {chooseRun} from './choose.ts'
import {openCells} from './edit-question.ts'
import {RunLine} from './live-sheet.ts'
import {QuestionSheet} from './question.ts'
import {useQuestionRows} from './question-rows.ts'
import {Retry} from './retry.ts'
import {Rules} from './rules.ts'
import {openQuestionsOf, type Run} from './run.ts'

type QuestionPage = {questions: Question[]; rules: Rule[]; nextCursor: string | null}

/** The page of a run's questions: rows whose match or lookup is ambiguous, and values that people edited. */
export const Questions = ({params: {id = ''}}: PageProps) => html`
  <${ImportFrame} id=${id} step="results" title=${t.questions} lead=${t.someRowsWaitForYourDecisionAnswer}>
    ${(loadedImport: LoadedImport) => html`<${QuestionsOf} id=${id} known=${loadedImport} />`}
  <//>
`

const QuestionsOf = ({id, known: loadedImport}: {id: string; known: LoadedImport}) => {
  const runId = chooseRun(loadedImport, {dryRun: false})
  const loaded = useLoad<Run | null>(
    async signal => (runId === null ? null : (await client.get<{run: Run}>(inOrg(`/imports/${id}/runs/${runId}`), {}, signal)).run),
    [id, runId],
  )
  return html`<${Shown} of=${loaded}>${(run: Run | null) => (run ? html`<${RunQuestions} key=${run.id} id=${id} run=${run} known=${loadedImport} onSaved=${loaded.again} />` : html`<div class="empty">${t.noRunsYetSoThereAreNo}</div>`)}<//>`
}

type RunQuestionsProps = {id: string; run: Run; known: LoadedImport; onSaved: () => void}

const RunQuestions = ({id, run, known: loadedImport, onSaved}: RunQuestionsProps) => {
  const path = inOrg(`/imports/${id}/runs/${run.id}/questions`)
  const cursor = place.value.query.get('cursor') ?? undefined
  const page = useLoad<QuestionPage>(signal => client.get(path, {cursor, limit: 20}, signal), [run.id, cursor])
  const [drafts, setDrafts] = useKept<Answers>(`answers ${run.id}`, {})
  const [hasSaved, setSaved] = useState(false)
  const saving = useDoing(async (rules: Rule[] = []) => {
    await client.post(path, {answers: answersOf(drafts), rules})
    setDrafts(before => withoutSaved(before, drafts))
    setSaved(true)
    say(t.answersSaved)
    page.again()
    onSaved()
  })
  const readCell = openCells(loadedImport, id)
  const rows = useQuestionRows({importId: id, runId: run.id, flows: loadedImport.import.flows, questions: page.data?.questions ?? []})
  const answer = (key: string, choice: Choice) => setDrafts(before => ({...before, [key]: choice}))
  const goOn = goIfHere()
  const started = (next: string) => goOn(to('imports', id, 'run', {run: next}))
  const waiting = Object.keys(drafts).length
  return html`
    <${RunLine} run=${run} />
    <${Shown} of=${page}>
      ${({questions, rules, nextCursor}: QuestionPage) => html`
        ${questions.length === 0 && !cursor && html`<div class="empty"><p>${t.thisRunHasNoQuestions}</p><a class="button" href=${to('imports', id, 'results', {run: run.id})}>${t.viewRows}</a></div>`}
        ${questions.length > 0 && may('operator') && html`<${Rules} questions=${questions} rules=${rules} onRule=${(rule: Rule) => saving.run([rule])} />`}
        ${questions.map(question => html`<${QuestionSheet} key=${question.key} question=${question} draft=${drafts[question.key]} row=${rows.data?.(question) ?? null} readCell=${readCell} onChoose=${(choice: Choice) => answer(question.key, choice)} />`)}
        <div class="run-pager">
          ${cursor && html`<${Button} onClick=${() => setQuery({cursor: undefined})}>${t.firstPage}<//>`}
          ${nextCursor !== null && html`<${Button} onClick=${() => setQuery({cursor: nextCursor})}>${t.nextQuestions}<//>`}
        </div>
        <${Problem} error=${saving.error} />
        ${questions.length > 0 && may('operator') && html`<div class="run-save"><span class="grow quiet" role="status">${waiting === 0 ? t.noUnsavedAnswers : t.unsavedAnswerCount(waiting)}</span><${Button} kind=${waiting > 0 || openQuestionsOf(run) > 0 ? 'main' : 'plain'} disabled=${waiting === 0} isBusy=${saving.isBusy} onClick=${() => saving.run()}>${waiting > 0 ? t.saveAnswerCount(waiting) : t.saveAnswers}<//></div>`}
        ${hasSaved && waiting === 0 && html`<${Notice} kind="good" title=${t.answersSaved}>${t.retryTheRunToWriteTheWaitingRows}<//>`}
      `}
    <//>
    <${Retry} importId=${id} run=${run} known=${loadedImport} onStarted=${started} isMain=${waiting === 0 && openQuestionsOf(run) === 0} />
  `
}
