import {html} from './html.ts'
import {useDoing} from './state/load.ts'
import {ended, signOut} from './state/session.ts'
import {signInAgain} from './state/sign-in-again.ts'
import {t} from './text/shell.ts'
import {Button} from './ui/button.ts'
import {Dialog} from './ui/dialog.ts'
import {Problem} from './ui/notice.ts'

/**
 * Asks the person to sign in again after the session ended. The page stays behind the dialog, with everything that the person typed. If the person
 * closes the dialog, the next refused request shows it again.
 */
export const SessionEnded = () => {
  const doing = useDoing(signInAgain)
  const close = () => {
    ended.value = null
  }
  const actions = html`
    <${Button} onClick=${() => signOut()}>${t.signOut}<//>
    <${Button} kind="main" isBusy=${doing.isBusy} onClick=${() => doing.run()}>${doing.isBusy ? t.continueInTheSignInWindow : t.continueWithYourCrm}<//>
  `
  return html`<${Dialog} title=${t.signInAgain} onClose=${close} actions=${actions}><p>${t.draftsKept}</p><${Problem} error=${doing.error} /><//>`
}
