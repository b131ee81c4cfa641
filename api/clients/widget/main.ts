import {render} from 'preact'
import {App} from './app.ts'
import {html} from './html.ts'
import {applyTheme} from './state/theme.ts'

applyTheme()
const app = document.getElementById('app')!
// The page contains a loading message, which is removed here.
app.replaceChildren()
render(html`<${App} />`, app)
