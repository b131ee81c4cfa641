import {html} from '../html.ts'
import {embed} from '../state/embed.ts'
import {to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {t} from '../text/runs.ts'
import {openQuestionsOf, type Run} from './run.ts'

/** Whether the signed-in person can answer open questions of the run. If so, answering is the main action on the run's pages. */
export const needsAnswers = (run: Run): boolean => may('operator') && !embed.value && openQuestionsOf(run) > 0

export const QuestionsLink = ({importId, run}: {importId: string; run: Run}) => {
  if (run.questions === 0 || embed.value) return null
  const isMain = needsAnswers(run)
  const label = isMain ? t.answerQuestions(openQuestionsOf(run)) : t.viewQuestions
  return html`<a class=${isMain ? 'button main' : 'button'} href=${to('imports', importId, 'questions', {run: run.id})}>${label}</a>`
}
