import {render} from 'preact'
import {html} from '../html.ts'
import {postToHost} from '../state/embed.ts'
import {startLanguage} from '../state/language.ts'
import {applyTheme} from '../state/theme.ts'

applyTheme()
await startLanguage(['embed', 'files', 'reading'])
// Modules read their messages when they are evaluated, so `app.ts` is imported after the language is known.
const {EmbedApp} = await import('./app.ts')
const app = document.getElementById('app')!
app.replaceChildren()
render(html`<${EmbedApp} />`, app)

/** Reports the height of the content to the embedding page, so that the frame needs no scroll bar. */
new ResizeObserver(() => postToHost({type: 'lading:height', height: Math.ceil(app.getBoundingClientRect().height)})).observe(app)
