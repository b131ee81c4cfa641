import {render} from 'preact'
import {App} from './app.ts'
import {html} from './html.ts'
import {applyTheme} from './state/theme.ts'

applyTheme()
render(html`<${App} />`, document.getElementById('app')!)
