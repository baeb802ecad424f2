#Requires -Version 5.1
<#
.SYNOPSIS
    Makes Windows ready to run dxtensor in WSL: WSL itself, a distribution of version 2, .wslconfig.

.DESCRIPTION
    Each step looks first and does only what is missing, so the script may be run again at any time; it says what it changed.
    With -DryRun it says what it would do and changes nothing. Steps:

      1. Windows: build 19044 (Windows 10 21H2) or later, and a GPU driver; neither can be installed from here
      2. WSL: installed, or updated with -Update (a new installation needs an elevated PowerShell and a restart)
      3. version 2 is the default for new distributions
      4. the distribution: installed if it is missing, converted if it is of version 1
      5. .wslconfig: gpuSupport is not off; memory and processors if they are given. What else stands in it stays
      6. with -Provision: wsl/provision.sh inside the distribution

    wsl/check.sh inside the distribution, or `npx dxtensor doctor`, says afterwards whether everything is there.

.PARAMETER Distribution
    Its name as `wsl --list --online` shows it.
.PARAMETER Memory
    For .wslconfig, such as 8GB.
.PARAMETER Processors
    For .wslconfig.
.PARAMETER Update
    Runs `wsl --update`.
.PARAMETER Provision
    Runs wsl/provision.sh of this repository inside the distribution.
.PARAMETER SettingsFile
    Another file than .wslconfig in the user's folder.
.PARAMETER DryRun
    Says what would be done, changes nothing.

.EXAMPLE
    .\wsl\provision.ps1 -DryRun
.EXAMPLE
    .\wsl\provision.ps1 -Distribution Ubuntu-22.04 -Memory 8GB -Update -Provision
#>
[CmdletBinding()]
param(
    [string] $Distribution = 'Ubuntu-22.04',
    [ValidatePattern('^\d+(KB|MB|GB|TB)$')] [string] $Memory,
    [ValidateRange(1, 1024)] [int] $Processors,
    [switch] $Update,
    [switch] $Provision,
    [string] $SettingsFile = (Join-Path $env:USERPROFILE '.wslconfig'),
    [switch] $DryRun
)

Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'
# Else wsl.exe writes UTF-16, which older PowerShells show with a gap after each letter.
$env:WSL_UTF8 = '1'

$script:changes = @()

function Exit-WithProblem([string] $Problem, [string] $Mend) {
    Write-Host "provision: $Problem" -ForegroundColor Red
    Write-Host "      $Mend"
    exit 1
}

function Add-Planned([string] $What) {
    $script:changes += $What
    Write-Host "provision: would $What"
}

# Runs a step and records it; with -DryRun it only prints it.
function Invoke-Step([string] $What, [scriptblock] $Body) {
    if ($DryRun) {
        Add-Planned $What
        return
    }
    $script:changes += $What
    Write-Host "provision: $What"
    & $Body
}

# Runs wsl.exe. Returns its lines, without the remains of UTF-16 of older versions, and its status.
function Invoke-Wsl([string[]] $Arguments) {
    $before = $ErrorActionPreference
    # PowerShell takes stderr output of a program for an error; it is none.
    $ErrorActionPreference = 'Continue'
    try {
        $lines = & wsl.exe @Arguments 2>&1 | ForEach-Object { "$_".Replace("`0", '').Trim() } | Where-Object { $_ -ne '' }
        return [pscustomobject]@{ Status = $LASTEXITCODE; Lines = @($lines) }
    }
    finally {
        $ErrorActionPreference = $before
    }
}

function Assert-Wsl([string[]] $Arguments, [string] $Mend) {
    $done = Invoke-Wsl $Arguments
    if ($done.Status -ne 0) {
        Exit-WithProblem "wsl $($Arguments -join ' ') failed (status $($done.Status)): $($done.Lines -join ' ')" $Mend
    }
    return $done
}

function Test-Elevated {
    $identity = [Security.Principal.WindowsIdentity]::GetCurrent()
    return ([Security.Principal.WindowsPrincipal] $identity).IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)
}

# Distributions by name with their version, from the registry, since the encoding of its text is known.
function Get-Distributions {
    $found = @{}
    $root = 'HKCU:\Software\Microsoft\Windows\CurrentVersion\Lxss'
    if (Test-Path $root) {
        foreach ($key in Get-ChildItem $root) {
            $entry = Get-ItemProperty $key.PSPath
            if ($entry.PSObject.Properties['DistributionName']) { $found[$entry.DistributionName] = [int] $entry.Version }
        }
    }
    return $found
}

function Get-DefaultVersion {
    $root = 'HKCU:\Software\Microsoft\Windows\CurrentVersion\Lxss'
    if (-not (Test-Path $root)) { return 0 }
    $entry = Get-ItemProperty $root
    if ($entry.PSObject.Properties['DefaultVersion']) { return [int] $entry.DefaultVersion }
    return 2
}

# The lines of an ini file with one key of one section set; sections, order and comments stay as they are.
function Set-IniLine([string[]] $Lines, [string] $Section, [string] $Key, [string] $Value) {
    $result = New-Object System.Collections.Generic.List[string]
    $current = ''
    $done = $false
    foreach ($line in $Lines) {
        if ($line -match '^\s*\[(.+)\]\s*$') {
            if (-not $done -and $current -eq $Section) {
                $result.Add("$Key=$Value")
                $done = $true
            }
            $current = $Matches[1].Trim().ToLowerInvariant()
        }
        if (-not $done -and $current -eq $Section -and $line -match "^\s*$([regex]::Escape($Key))\s*=") {
            $result.Add("$Key=$Value")
            $done = $true
            continue
        }
        $result.Add($line)
    }
    if (-not $done) {
        if ($current -ne $Section) { $result.Add("[$Section]") }
        $result.Add("$Key=$Value")
    }
    return $result.ToArray()
}

function Get-IniValue([string[]] $Lines, [string] $Section, [string] $Key) {
    $current = ''
    foreach ($line in $Lines) {
        if ($line -match '^\s*\[(.+)\]\s*$') { $current = $Matches[1].Trim().ToLowerInvariant() }
        elseif ($current -eq $Section -and $line -match "^\s*$([regex]::Escape($Key))\s*=\s*([^#;]*)") { return $Matches[1].Trim() }
    }
    return $null
}

# --- 1. Windows

$build = [Environment]::OSVersion.Version.Build
if ($build -lt 19044) {
    Exit-WithProblem "Windows build $build gives WSL no GPU; WSL needs 19044 (Windows 10 21H2) or Windows 11." 'Start-Process ms-settings:windowsupdate'
}
$gpus = @(Get-CimInstance -ClassName Win32_VideoController)
foreach ($gpu in $gpus) { Write-Host "provision: GPU $($gpu.Name), driver $($gpu.DriverVersion)" }
if (-not ($gpus | Where-Object { $_.Name -notmatch 'basic (display|render)|remote display|hyper-v video|idd|virtual display' })) {
    Write-Host "provision: Windows has no GPU driver; install the GPU maker's, never one inside WSL" -ForegroundColor Yellow
}

# --- 2. WSL

$isThere = [bool] (Get-Command wsl.exe -ErrorAction SilentlyContinue)
$status = if ($isThere) { Invoke-Wsl @('--status') } else { $null }
if (-not $isThere -or $status.Status -ne 0) {
    if (-not $DryRun -and -not (Test-Elevated)) {
        Exit-WithProblem 'WSL is not installed, and installing it needs an elevated PowerShell.' 'Start-Process powershell -Verb RunAs'
    }
    Invoke-Step 'install WSL (wsl --install --no-distribution)' {
        Assert-Wsl @('--install', '--no-distribution') 'Turn virtualization on in the firmware, or install WSL from the Microsoft Store.' | Out-Null
        Write-Host 'provision: restart Windows now, then run this script again'
        exit 0
    }
}
elseif ($Update) {
    $before = (Invoke-Wsl @('--version')).Lines -join '; '
    if ($DryRun) {
        Add-Planned 'update WSL (wsl --update)'
    }
    else {
        Assert-Wsl @('--update') 'Update WSL in the Microsoft Store.' | Out-Null
        $after = (Invoke-Wsl @('--version')).Lines -join '; '
        if ($after -ne $before) {
            $script:changes += 'updated WSL'
            Write-Host "provision: updated WSL: $after"
        }
    }
}

# --- 3. version 2 for new distributions

if ((Get-DefaultVersion) -ne 2) {
    Invoke-Step 'make version 2 the default (wsl --set-default-version 2)' {
        Assert-Wsl @('--set-default-version', '2') 'Run this script again after a restart.' | Out-Null
    }
}

# --- 4. the distribution

$distributions = Get-Distributions
if (-not $distributions.ContainsKey($Distribution)) {
    Invoke-Step "install $Distribution (wsl --install -d $Distribution --no-launch)" {
        Assert-Wsl @('--install', '-d', $Distribution, '--no-launch') 'Names that can be installed: wsl --list --online' | Out-Null
    }
}
elseif ($distributions[$Distribution] -eq 1) {
    Invoke-Step "convert $Distribution to version 2 (wsl --set-version $Distribution 2); this takes minutes" {
        Assert-Wsl @('--set-version', $Distribution, '2') 'Close every window of it: wsl --shutdown' | Out-Null
    }
}

# --- 5. .wslconfig

$lines = @()
if (Test-Path $SettingsFile) { $lines = @(Get-Content $SettingsFile) }
$wanted = [ordered]@{}
if ((Get-IniValue $lines 'wsl2' 'gpuSupport') -eq 'false') { $wanted['gpuSupport'] = 'true' }
if ($Memory -and (Get-IniValue $lines 'wsl2' 'memory') -ne $Memory) { $wanted['memory'] = $Memory }
if ($Processors -gt 0 -and (Get-IniValue $lines 'wsl2' 'processors') -ne "$Processors") { $wanted['processors'] = "$Processors" }
if ($wanted.Count -gt 0) {
    $what = ($wanted.Keys | ForEach-Object { "$_=$($wanted[$_])" }) -join ', '
    Invoke-Step "set $what in [wsl2] of $SettingsFile (the file before is kept as .wslconfig.before)" {
        if (Test-Path $SettingsFile) { Copy-Item $SettingsFile "$SettingsFile.before" -Force }
        $new = $lines
        foreach ($key in $wanted.Keys) { $new = Set-IniLine $new 'wsl2' $key $wanted[$key] }
        Set-Content -Path $SettingsFile -Value $new -Encoding Ascii
        Write-Host 'provision: this counts after: wsl --shutdown'
    }
}

# --- 6. inside

if ($Provision) {
    $repository = Split-Path -Parent $PSScriptRoot
    if ($DryRun) {
        Add-Planned "run wsl/provision.sh inside $Distribution"
    }
    else {
        # --cd takes a Windows path; --exec runs no shell that would read the arguments again.
        & wsl.exe -d $Distribution --cd $repository --exec bash wsl/provision.sh
        if ($LASTEXITCODE -ne 0) { Exit-WithProblem "wsl/provision.sh ended with status $LASTEXITCODE." 'See above; a second run continues from there.' }
    }
}

if ($script:changes.Count -eq 0) { Write-Host 'provision: everything is there, nothing was changed' }
elseif ($DryRun) { Write-Host "provision: steps to do: $($script:changes.Count); nothing was changed" }
else { Write-Host "provision: steps done: $($script:changes.Count)" }
