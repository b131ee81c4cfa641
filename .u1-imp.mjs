process.env.X = 1
const {default: _} = await import('node:path')
const mod = await import('node:module')
const a = process.cpuUsage()
for (const target of process.argv.slice(2)) await import(target).catch(e => { if (!/AVA/.test(e.message)) throw e })
const b = process.cpuUsage(a)
console.log(process.argv.slice(2).join(' ').replaceAll('/work/main/',''), 'cpu ms', Math.round((b.user+b.system)/1000))
