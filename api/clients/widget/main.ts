import {render} from 'preact'
import {App} from './app.ts'
import {html} from './html.ts'
import {applyTheme} from './state/theme.ts'

applyTheme()
const app = document.getElementById('app')!
// What stands there until the scripts are here would stay.
app.replaceChildren()
render(html`<${App} />`, app)
