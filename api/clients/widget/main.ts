import {render} from 'preact'
import {html} from './html.ts'
import {startLanguage} from './state/language.ts'
import {applyTheme} from './state/theme.ts'

applyTheme()
await startLanguage()
// Modules read their messages when they are evaluated, so `app.ts` is imported after the language is known.
const {App} = await import('./app.ts')
const app = document.getElementById('app')!
app.replaceChildren()
render(html`<${App} />`, app)
