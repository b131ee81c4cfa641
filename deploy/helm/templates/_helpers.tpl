{{/* The name of all objects of a release. */}}
{{- define "lading.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end -}}

{{/* The labels that select the pods of a release. */}}
{{- define "lading.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "lading.labels" -}}
{{ include "lading.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* A pod of one process. Takes root, name, process, and for workers metrics. */}}
{{- define "lading.pod" -}}
{{- $root := .root -}}
automountServiceAccountToken: false
terminationGracePeriodSeconds: 45
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with $root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: {{ .name }}
    image: {{ printf "%s:%s" $root.Values.image.repository (default $root.Chart.AppVersion $root.Values.image.tag) | quote }}
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    args: {{- toYaml .process.command | nindent 6 }}
    envFrom:
      - secretRef: {name: {{ required "existingSecret names the Secret with the variables" $root.Values.existingSecret }}}
    # The probes and the service use these ports, so PORT and METRICS_PORT of the settings or the Secret do not apply.
    env:
      {{- range $variable, $value := omit $root.Values.settings "PORT" "METRICS_PORT" }}
      - {name: {{ $variable }}, value: {{ $value | quote }}}
      {{- end }}
      - {name: PORT, value: "4000"}
      {{- if .metrics }}
      - {name: METRICS_PORT, value: "9090"}
      {{- end }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]}
    {{- with .process.resources }}
    resources: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- if eq .name "web" }}
    # A pod that ends gets requests until every proxy of the cluster has removed it. These 5 s, DRAIN_SECONDS (30 s) and the closing (5 s) fit
    # into terminationGracePeriodSeconds.
    lifecycle: {preStop: {exec: {command: [sleep, '5']}}}
    ports:
      - {name: http, containerPort: 4000}
    readinessProbe:
      httpGet: {path: /health, port: http}
      periodSeconds: 10
      timeoutSeconds: 5
    livenessProbe:
      tcpSocket: {port: http}
      initialDelaySeconds: 15
      periodSeconds: 20
    {{- else if .metrics }}
    ports:
      - {name: metrics, containerPort: 9090}
    readinessProbe:
      tcpSocket: {port: metrics}
      periodSeconds: 10
    livenessProbe:
      tcpSocket: {port: metrics}
      initialDelaySeconds: 30
      periodSeconds: 20
    {{- end }}
    volumeMounts:
      - {name: tmp, mountPath: /tmp}
      - {name: files, mountPath: /data}
volumes:
  - name: tmp
    emptyDir: {}
  - name: files
    {{- if $root.Values.files.existingClaim }}
    persistentVolumeClaim: {claimName: {{ $root.Values.files.existingClaim }}}
    {{- else if $root.Values.settings.S3_BUCKET }}
    emptyDir: {}
    {{- else }}
    {{- fail "Set settings.S3_BUCKET, or files.existingClaim to a claim that many pods can write to" }}
    {{- end }}
{{- end -}}
