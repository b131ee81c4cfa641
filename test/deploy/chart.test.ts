import {globSync} from 'node:fs'
import test from 'ava'
import {parse} from 'yaml'
import {inspectSettings, readConfig, settingNames} from '../../shared/config.ts'
import {processes, readText, readYaml, root} from './files.ts'
import {renderChart} from './render-chart.ts'

const folder = `${root}/deploy/helm`
const bucket = {settings: {S3_BUCKET: 'lading'}}
const values = readYaml('deploy/helm/values.yaml')
const [release, ...started] = processes

const podsOf = (documents: any[]) =>
  documents.flatMap(({kind, spec}) =>
    ['Deployment', 'Job'].includes(kind) ? [{kind, ...spec.template.spec, labels: spec.template.metadata.labels}] : [],
  )
const ofKind = (documents: any[], wanted: string) => documents.filter(({kind}) => kind === wanted)
const component = (document: any) => document.metadata.labels['app.kubernetes.io/component']

test('every process of the Procfile is a deployment with the same command, and the release is a job before them', t => {
  const documents = renderChart(folder, {values: bucket})
  const commands = Object.fromEntries(podsOf(documents).map(({containers: [{name, args}]}) => [name, args]))
  t.deepEqual(commands, Object.fromEntries(processes.map(({name, command}) => [name, command])))
  t.deepEqual(ofKind(documents, 'Deployment').map(component).toSorted(), started.map(({name}) => name).toSorted())
  const [job] = ofKind(documents, 'Job')
  t.is(job.metadata.annotations['helm.sh/hook'], 'pre-install,pre-upgrade')
  t.is(job.spec.template.spec.containers[0].name, release!.name)
})

test('every object has a name of the release, and every selector finds its pods', t => {
  const documents = renderChart(folder, {values: {...bucket, ingress: {enabled: true}}, release: 'crm-import'})
  const names = documents.map(({kind, metadata}) => `${kind} ${metadata.name}`)
  t.is(new Set(names).size, names.length)
  for (const {metadata} of documents) t.regex(metadata.name, /^crm-import-lading(-[a-z]+)?$/)
  const pods = podsOf(documents).filter(({kind}) => kind === 'Deployment')
  const matching = (labels: Record<string, string>) =>
    pods.filter(pod => Object.entries(labels).every(([name, value]) => pod.labels[name] === value))
  for (const {spec} of ofKind(documents, 'Deployment')) t.is(matching(spec.selector.matchLabels).length, 1)
  for (const budget of ofKind(documents, 'PodDisruptionBudget')) {
    t.is(matching(budget.spec.selector.matchLabels)[0]!.containers[0].name, component(budget))
    t.is(budget.spec.maxUnavailable, 1)
  }
  t.is(ofKind(documents, 'PodDisruptionBudget').length, started.length)
  const [service] = ofKind(documents, 'Service')
  t.is(matching(service.spec.selector)[0]!.containers[0].name, 'web')
  t.is(ofKind(documents, 'Ingress')[0].spec.rules[0].http.paths[0].backend.service.name, service.metadata.name)
})

test('no pod runs as root, writes its root filesystem or gets a token of the cluster, and each is probed', t => {
  for (const pod of podsOf(renderChart(folder, {values: bucket}))) {
    const [container] = pod.containers
    t.like(pod, {automountServiceAccountToken: false, securityContext: {runAsNonRoot: true, runAsUser: 10001}}, container.name)
    t.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: {drop: ['ALL']},
    })
    t.deepEqual(
      container.volumeMounts.map(({mountPath}: {mountPath: string}) => mountPath),
      ['/tmp', '/data'],
    )
    if (pod.kind === 'Job') continue
    const ports = container.ports.map(({name}: {name: string}) => name)
    t.deepEqual(ports, [container.name === 'web' ? 'http' : 'metrics'])
    for (const probe of [container.readinessProbe, container.livenessProbe]) t.is((probe.httpGet ?? probe.tcpSocket).port, ports[0])
  }
  t.true(readText('Dockerfile').includes('USER 10001:10001'))
})

test('a pod of the API that ends serves requests for some seconds more, and drains before it is killed', t => {
  for (const {containers, terminationGracePeriodSeconds} of podsOf(renderChart(folder, {values: bucket}))) {
    const [{name, lifecycle}] = containers
    if (name !== 'web') t.is(lifecycle, undefined, name)
    else {
      const [command, seconds] = lifecycle.preStop.exec.command
      t.is(command, 'sleep')
      const closeSeconds = 5
      t.true(Number(seconds) + readConfig({}).DRAIN_SECONDS + closeSeconds < terminationGracePeriodSeconds)
    }
  }
})

test('every variable exists in the configuration, and a production deployment lacks none', t => {
  const [pod] = podsOf(renderChart(folder, {values: bucket})).filter(({labels}) => labels['app.kubernetes.io/component'] === 'imports')
  const plain = Object.fromEntries(pod!.containers[0].env.map(({name, value}: {name: string; value: string}) => [name, value]))
  t.like(plain, {METRICS_PORT: '9090', S3_BUCKET: 'lading', PUBLIC_URL: values.settings.PUBLIC_URL})
  const comment = readText('deploy/helm/values.yaml').split('existingSecret:')[0]!.split('# A Secret')[1]!
  const secret = [...comment.matchAll(/\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/g)].map(([name]) => name)
  for (const name of [...Object.keys(plain), ...secret]) t.true(settingNames.includes(name), name)
  const missing = inspectSettings({NODE_ENV: 'production', ...plain}).problems.flatMap(({names}) => names)
  t.true(missing.length > 0)
  for (const name of [...missing, 'DATABASE_URL']) t.true(secret.includes(name), name)
})

test('the chart ignores PORT and METRICS_PORT in `settings`, because probes and service use the ports of the chart', t => {
  for (const {containers} of podsOf(renderChart(folder, {values: {settings: {...bucket.settings, PORT: '8080', METRICS_PORT: '1'}}}))) {
    const [{name, env, ports = []}] = containers
    const given = env.filter((one: {name: string}) => one.name.endsWith('PORT'))
    const worker = ports.some((port: {name: string}) => port.name === 'metrics') ? [{name: 'METRICS_PORT', value: '9090'}] : []
    t.deepEqual(given, [{name: 'PORT', value: '4000'}, ...worker], name)
  }
})

test('workers scale on the age of their queue, the API on its processor', t => {
  const autoscaling = {enabled: true}
  const documents = renderChart(folder, {values: {...bucket, processes: {web: {autoscaling}, imports: {autoscaling}}}})
  const scalers = ofKind(documents, 'HorizontalPodAutoscaler')
  t.deepEqual(scalers.map(component).toSorted(), ['imports', 'web'])
  const [imports] = scalers.filter(one => component(one) === 'imports')
  t.like(imports.spec.metrics[0].external, {
    metric: {name: 'lading_queue_oldest_seconds', selector: {matchLabels: {queue: 'import.run', state: 'waiting'}}},
    target: {type: 'Value', value: '30'},
  })
  t.true(readText('shared/telemetry/metrics/alerts.yml').includes('lading_queue_oldest_seconds{state="waiting"}'))
  for (const deployment of ofKind(documents, 'Deployment'))
    t.is('replicas' in deployment.spec, !['imports', 'web'].includes(component(deployment)))
  const [, rule = ''] = /```yaml\n( *externalRules:[^`]*)```/.exec(readText('docs/install.md')) ?? []
  t.regex(parse(rule).externalRules[0].metricsQuery, /^max /, 'every process reports the same age')
  const jobs = readText('shared/jobs.ts')
  for (const {autoscaling} of Object.values<any>(values.processes).filter(one => one.autoscaling?.queue))
    t.true(jobs.includes(`'${autoscaling.queue}'`), autoscaling.queue)
})

test('pods accept their ports only, and reach no private address that is not listed', t => {
  const [all, web] = ofKind(renderChart(folder, {values: bucket}), 'NetworkPolicy')
  t.deepEqual(all.spec.policyTypes, ['Ingress', 'Egress'])
  const [dns, open, postgres] = all.spec.egress
  t.deepEqual(dns.ports, [
    {port: 53, protocol: 'UDP'},
    {port: 53, protocol: 'TCP'},
  ])
  t.true(open.to[0].ipBlock.except.includes('169.254.0.0/16') && open.to[0].ipBlock.except.includes('10.0.0.0/8'))
  t.deepEqual(postgres.ports, [{port: 5432}])
  t.deepEqual(web.spec.ingress, [{ports: [{port: 4000}]}])
  t.deepEqual(all.spec.ingress, [{ports: [{port: 9090}], from: values.networkPolicy.metricsFrom}])
  const [closed] = ofKind(renderChart(folder, {values: {...bucket, networkPolicy: {metricsFrom: []}}}), 'NetworkPolicy')
  t.is(closed.spec.ingress, undefined, 'an empty list of peers would admit every pod')
  t.deepEqual(ofKind(renderChart(folder, {values: {...bucket, networkPolicy: {enabled: false}}}), 'NetworkPolicy'), [])
})

test('a chart without a place for files or without a Secret is refused, and a claim is a place', t => {
  t.throws(() => renderChart(folder), {message: /Set settings\.S3_BUCKET, or files\.existingClaim/})
  t.throws(() => renderChart(folder, {values: {...bucket, existingSecret: ''}}), {message: /existingSecret names the Secret/})
  const [pod] = podsOf(renderChart(folder, {values: {files: {existingClaim: 'lading-files'}}}))
  t.deepEqual(pod!.volumes[1].persistentVolumeClaim, {claimName: 'lading-files'})
})

test('the chart has the version of the package, and every template is rendered', t => {
  const {version} = JSON.parse(readText('package.json'))
  t.like(readYaml('deploy/helm/Chart.yaml'), {version, appVersion: version})
  t.deepEqual(
    globSync('templates/*', {cwd: folder}).filter(path => !/\.(yaml|tpl|txt)$/.test(path)),
    [],
  )
})
