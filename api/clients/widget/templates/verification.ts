import {html} from '../html.ts'
import {type VerifyMode, VerifySelect} from '../runs/verify-choice.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/comparing.ts'
import {SaveActions, useDraft} from '../ui/draft.ts'
import {Problem, say} from '../ui/notice.ts'
import type {Template} from './template.ts'

type Props = {template: Template; again: () => void}

export const VerificationSection = ({template: {id, verify, mayEdit}, again}: Props) => {
  const form = useDraft({verify})
  const save = useDoing(async () => {
    await client.patch(inOrg(`/templates/${id}`), form.draft)
    form.keepSaved(form.draft)
    say(t.comparisonSaved)
    again()
  })
  const submit = (event: Event) => {
    event.preventDefault()
    save.run()
  }
  return html`
    <h2>${t.compareWithTheCrm}</h2>
    <p class="quiet">${t.appliesToRuns}</p>
    ${
      mayEdit
        ? html`
            <form onSubmit=${submit}>
              <${VerifySelect} mode=${form.draft.verify} canInherit=${false} onChange=${(mode: VerifyMode) => form.set({verify: mode})} />
              <${Problem} error=${save.error} />
              <${SaveActions} of=${form} isBusy=${save.isBusy} isMain=${false} />
            </form>
          `
        : html`<p>${t.verifyModes[verify]}</p>`
    }
  `
}
