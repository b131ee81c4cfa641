/** Plain pages without scripts and external resources, for people and tests. */
export const layout = (title: string, content: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · payment stand-in</title>
<style>${style}</style>
</head>
<body><main>${content}</main><footer>A stand-in for the payment provider: no real money is involved.</footer></body>
</html>
`

const entities: Record<string, string> = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;'}
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, found => entities[found]!)

export const money = (amount: number, currency: string): string => `${(amount / 100).toFixed(2)} ${currency.toUpperCase()}`
export const day = (at: number): string => new Date(at * 1000).toISOString().slice(0, 10)

/** A field for a card number, with a list of working and failing cards. */
export const cardField = (numbers: Record<string, string>): string => `<label for="card">Card number</label>
<input id="card" name="card" list="cards" inputmode="numeric" autocomplete="off" required value="4242424242424242">
<datalist id="cards">${Object.entries(numbers)
  .map(([number, token]) => `<option value="${number}">${escapeHtml(token)}</option>`)
  .join('')}</datalist>`

export const problem = (text: string | null): string => (text === null ? '' : `<p class="problem" role="alert">${escapeHtml(text)}</p>`)

const style = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{margin:0;min-height:100vh;display:grid;place-content:center;gap:1rem;background:light-dark(#f3f1ee,#151412);color:light-dark(#27231e,#ece8e2)}
main{box-sizing:border-box;width:min(28rem,94vw);padding:2rem;border-radius:.75rem;background:light-dark(#fff,#1f1d1a);box-shadow:0 .5rem 2rem #0002}
h1{margin:0 0 1rem;font-size:1.4rem}label{display:block;margin:1rem 0 .25rem;font-size:.85rem;font-weight:600}
table{width:100%;border-collapse:collapse}td{padding:.3rem 0}td:last-child{text-align:right}
input,button{box-sizing:border-box;width:100%;font:inherit;padding:.6rem .75rem;border-radius:.5rem;border:1px solid light-dark(#c9c2b8,#4a453d);background:transparent;color:inherit}
button{margin-top:1rem;cursor:pointer}.main{background:#1d6b52;border-color:#1d6b52;color:#fff}
button:focus-visible,input:focus-visible{outline:3px solid #62b99a}
.problem{padding:.6rem .75rem;border-radius:.5rem;background:light-dark(#fbe9e7,#45211c)}footer{text-align:center;font-size:.8rem;opacity:.7}`
